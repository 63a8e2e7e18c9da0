-- Yesterday's totals and today's flights make today's totals. On 1 January there is no yesterday.
SELECT
    CAST('{{ partition.start }}' AS DATE) AS flight_date,
    tail_number,
    SUM(flights) AS flights,
    SUM(air_minutes) AS air_minutes,
    MAX(last_flown) AS last_flown
FROM (
    SELECT tail_number, flights, air_minutes, last_flown
    FROM mart.aircraft_hours
    WHERE flight_date = DATE_SUB('{{ partition.start }}', INTERVAL 1 DAY)
    UNION ALL
    SELECT tail_number, flights, air_minutes, flight_date AS last_flown
    FROM mart.aircraft_day
    WHERE flight_date = '{{ partition.start }}'
) AS so_far
GROUP BY tail_number
