-- Every route from New York. Without a predicate on flight_date, all days are read.
SELECT
    f.origin,
    f.destination,
    MAX(d.name) AS destination_name,
    MAX(f.distance_miles) AS distance_miles,
    COUNT(DISTINCT f.carrier) AS carriers,
    COUNT(*) AS flights,
    SUM(CASE WHEN f.cancelled THEN 1 ELSE 0 END) AS cancelled,
    MIN(f.flight_date) AS first_day,
    MAX(f.flight_date) AS last_day,
    AVG(f.arrival_delay) AS mean_arrival_delay
FROM nyc.flights AS f
LEFT JOIN nyc.airports AS d ON d.faa = f.destination
GROUP BY f.origin, f.destination
