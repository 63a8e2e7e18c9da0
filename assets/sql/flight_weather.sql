-- Each flight with the weather at its airport in the hour of its scheduled departure.
WITH hourly AS (
    -- One row an hour and airport: the hour that summer time repeats has two observations, of which the
    -- worse counts.
    SELECT
        observed_at,
        origin,
        MAX(wind_speed_mph) AS wind_speed_mph,
        MAX(precipitation_in) AS precipitation_in,
        MIN(visibility_miles) AS visibility_miles
    FROM nyc.weather
    WHERE observed_at >= '{{ partition.start }}' AND observed_at < '{{ partition.end }}'
    GROUP BY observed_at, origin
)
SELECT
    f.flight_date,
    f.carrier,
    f.flight_number,
    f.origin,
    f.scheduled_departure,
    f.departure_delay,
    f.cancelled,
    w.wind_speed_mph,
    w.precipitation_in,
    w.visibility_miles,
    -- The FAA's limits of visibility; the height of the clouds, its other criterion, is not in the data.
    CASE
        WHEN w.visibility_miles < 1 THEN 'LIFR'
        WHEN w.visibility_miles < 3 THEN 'IFR'
        WHEN w.visibility_miles <= 5 THEN 'MVFR'
        WHEN w.visibility_miles > 5 THEN 'VFR'
    END AS flight_rules
FROM nyc.flights AS f
LEFT JOIN hourly AS w
    ON w.origin = f.origin AND w.observed_at = DATE_TRUNC('hour', f.scheduled_departure)
WHERE f.flight_date = '{{ partition.start }}'
