-- Delays and cancellations of each airport in poor weather (anything below VFR) and in fair weather.
WITH by_weather AS (
    SELECT
        origin,
        SUM(CASE WHEN flight_rules <> 'VFR' THEN 1 ELSE 0 END) AS flights_in_poor_weather,
        SUM(CASE WHEN flight_rules <> 'VFR' AND cancelled THEN 1 ELSE 0 END) AS cancelled_in_poor_weather,
        AVG(CASE WHEN flight_rules <> 'VFR' THEN departure_delay END) AS mean_delay_poor_weather,
        AVG(CASE WHEN flight_rules = 'VFR' THEN departure_delay END) AS mean_delay_fair_weather
    FROM mart.flight_weather
    WHERE flight_date = '{{ partition.start }}'
    GROUP BY origin
)
SELECT
    a.flight_date,
    a.origin,
    a.flights,
    a.cancelled,
    b.flights_in_poor_weather,
    b.cancelled_in_poor_weather,
    b.mean_delay_poor_weather,
    b.mean_delay_fair_weather,
    w.precipitation_in
FROM mart.airport_day AS a
JOIN by_weather AS b ON b.origin = a.origin
LEFT JOIN mart.weather_day AS w ON w.weather_date = a.flight_date AND w.origin = a.origin
WHERE a.flight_date = '{{ partition.start }}'
