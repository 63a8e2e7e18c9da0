-- Delays of each route over the seven days that end with this one.
SELECT
    CAST('{{ partition.start }}' AS DATE) AS as_of,
    origin,
    destination,
    COUNT(*) AS flights,
    SUM(CASE WHEN cancelled THEN 1 ELSE 0 END) AS cancelled,
    AVG(arrival_delay) AS mean_arrival_delay,
    MAX(arrival_delay) AS worst_arrival_delay
FROM nyc.flights
WHERE flight_date > DATE_SUB('{{ partition.start }}', INTERVAL 7 DAY)
    AND flight_date <= '{{ partition.start }}'
GROUP BY origin, destination
