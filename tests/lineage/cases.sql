# Shapes of queries and what is read of each upstream. Format: test_cases.py.

# name: same day
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT dt, k, amount FROM orders WHERE dt = '{{ partition.start }}'

# name: same day, ds
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT dt, k, amount FROM orders WHERE '{{ ds }}' = dt

# name: same day, cast
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt = CAST('{{ ds }}' AS DATE) AND amount > 0

# name: same day, DATE literal
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt = DATE '{{ ds }}'

# name: same day, str_to_date of a compact date
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt = str_to_date('{{ ds_nodash }}', '%Y%m%d')

# name: same day, compact literal
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt = '{{ ds_nodash }}'

# name: same day, date_format of the column
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE date_format(dt, '%Y%m%d') = '{{ ds_nodash }}'

# name: same day, Java format of the column
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE date_format(dt, 'yyyyMMdd') = '{{ ds_nodash }}'

# name: same day, column as number
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE CAST(date_format(dt, '%Y%m%d') AS INT) = {{ ds_nodash }}

# name: same day, half open
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt >= '{{ partition.start }}' AND dt < '{{ partition.end }}'

# name: same day, Airflow interval
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt >= '{{ data_interval_start }}' AND dt < '{{ data_interval_end }}'

# name: same day, in a comment too
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k /* for {{ ds }} */ FROM orders -- {{ ds }}
WHERE dt = '{{ ds }}'

# name: table aliases are case-sensitive
# reads dw.orders: all
SELECT K FROM orders o WHERE O.DT = '{{ ds }}' OR o.Dt = '{{ ds }}'

# name: same day, column in another case
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT K FROM orders o WHERE o.DT = '{{ ds }}'

# name: trailing week, date_sub
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k, SUM(amount) AS amount FROM orders
WHERE dt > date_sub('{{ partition.start }}', INTERVAL 7 DAY) AND dt <= '{{ partition.start }}' GROUP BY k

# name: trailing week, minus interval and BETWEEN
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE dt BETWEEN CAST('{{ ds }}' AS DATE) - INTERVAL 6 DAY AND '{{ ds }}'

# name: trailing week, interval of a text
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE dt BETWEEN '{{ ds }}' - INTERVAL '6' DAY AND '{{ ds }}'

# name: trailing week, ds_add
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE dt >= '{{ macros.ds_add(ds, -6) }}' AND dt <= '{{ ds }}'

# name: trailing week, add
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE dt >= '{{ partition.start.add(days=-6) }}' AND dt < '{{ partition.end }}'

# name: trailing week, days_sub
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE dt >= days_sub('{{ ds }}', 6) AND NOT dt > '{{ ds }}'

# name: trailing week, datediff
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE datediff('{{ ds }}', dt) <= 6 AND datediff('{{ ds }}', dt) >= 0

# name: trailing week, to_days
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE to_days(dt) > to_days('{{ ds }}') - 7 AND to_days(dt) <= to_days('{{ ds }}')

# name: trailing week, shifted column
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
SELECT k FROM orders WHERE date_add(dt, INTERVAL 6 DAY) >= '{{ ds }}' AND dt <= '{{ ds }}'

# name: previous day
# reads dw.orders: 2024-03-04
# pattern dw.orders: start-1..start-1
SELECT k FROM orders WHERE dt = date_sub('{{ ds }}', 1)

# name: previous day, negated
# reads dw.orders: 2024-03-04
# pattern dw.orders: start-1..start-1
SELECT k FROM orders WHERE NOT (dt <> date_sub('{{ ds }}', 1))

# name: same weekday of four weeks, IN
# reads dw.orders: 2024-02-13, 2024-02-20, 2024-02-27, 2024-03-05
# pattern dw.orders: start-21..start-21, start-14..start-14, start-7..start-7, start..start
SELECT k FROM orders WHERE dt IN ('{{ ds }}', date_sub('{{ ds }}', 7), date_sub('{{ ds }}', 14), date_sub('{{ ds }}', 21))

# name: today or a week ago, OR
# reads dw.orders: 2024-02-27, 2024-03-05
# pattern dw.orders: start-7..start-7, start..start
SELECT k FROM orders WHERE dt = '{{ ds }}' OR dt = date_sub('{{ ds }}', 7)

# name: all but today
# reads dw.orders: ..2024-03-04, 2024-03-06..
# pattern dw.orders: ..start-1, start+1..
SELECT k FROM orders WHERE dt <> '{{ ds }}'

# name: NOT IN
# reads dw.orders: ..2024-03-03, 2024-03-06..
# pattern dw.orders: ..start-2, start+1..
SELECT k FROM orders WHERE dt NOT IN ('{{ ds }}', date_sub('{{ ds }}', 1))

# name: NOT BETWEEN
# reads dw.orders: ..2024-03-03, 2024-03-06..
# pattern dw.orders: ..start-2, start+1..
SELECT k FROM orders WHERE dt NOT BETWEEN date_sub('{{ ds }}', 1) AND '{{ ds }}'

# name: history
# reads dw.orders: ..2024-03-05
# pattern dw.orders: ..start
SELECT k FROM orders WHERE dt <= '{{ ds }}'

# name: history with a floor is no offset
# reads dw.orders: 2020-01-01..2024-03-05
# pattern dw.orders: none
SELECT k FROM orders WHERE dt >= '2020-01-01' AND dt <= '{{ ds }}'

# name: a fixed day is no offset
# reads dw.orders: 2020-01-01
# pattern dw.orders: none
SELECT k, '{{ ds }}' AS dt FROM orders WHERE dt = '2020-01-01'

# name: month to date
# reads dw.orders: 2024-03-01..2024-03-05
# pattern dw.orders: month..start
SELECT k FROM orders WHERE dt BETWEEN date_trunc('month', '{{ ds }}') AND '{{ ds }}'

# name: month to date, on the first
# window: 2024-03-01
# reads dw.orders: 2024-03-01
# pattern dw.orders: month..start
SELECT k FROM orders WHERE dt >= date_trunc('month', '{{ ds }}') AND dt <= '{{ ds }}'

# name: week to date
# reads dw.orders: 2024-03-04..2024-03-05
# pattern dw.orders: week..start
SELECT k FROM orders WHERE dt >= date_trunc('week', '{{ ds }}') AND dt <= '{{ ds }}'

# name: year to date
# reads dw.orders: 2024-01-01..2024-03-05
# pattern dw.orders: year..start
SELECT k FROM orders WHERE dt >= date_trunc('year', '{{ ds }}') AND dt <= '{{ ds }}'

# name: whole month of the day
# reads dw.orders: 2024-03-01..2024-03-31
# pattern dw.orders: month..month_end
SELECT k FROM orders WHERE date_trunc('month', dt) = date_trunc('month', '{{ ds }}')

# name: whole month of the day, by text
# reads dw.orders: 2024-03-01..2024-03-31
# pattern dw.orders: month..month_end
SELECT k FROM orders WHERE date_format(dt, '%Y-%m') = '{{ partition.start.strftime('%Y-%m') }}'

# name: whole month of the day, LIKE
# reads dw.orders: 2024-03-01..2024-03-31
# pattern dw.orders: month..month_end
SELECT k FROM orders WHERE dt LIKE '{{ ds[:7] }}%'

# name: whole month of the day, substr
# reads dw.orders: 2024-03-01..2024-03-31
# pattern dw.orders: month..month_end
SELECT k FROM orders WHERE substr(dt, 1, 7) = '{{ ds[:7] }}'

# name: month of the column, by parts
# reads dw.orders: 2024-03-01..2024-03-31
# pattern dw.orders: none
SELECT k FROM orders WHERE year(dt) = {{ partition.start.strftime('%Y') }} AND month(dt) = month('{{ ds }}')

# name: previous calendar month
# reads dw.orders: 2024-02-01..2024-02-29
# pattern dw.orders: none
SELECT k FROM orders WHERE date_trunc('month', dt) = date_trunc('month', months_sub('{{ ds }}', 1))

# name: one month back is no offset
# reads dw.orders: 2024-02-05..2024-03-05
# pattern dw.orders: none
SELECT k FROM orders WHERE dt >= date_sub('{{ ds }}', INTERVAL 1 MONTH) AND dt <= '{{ ds }}'

# name: weekday of the column, within a month
# reads dw.orders: 2024-03-04, 2024-03-11, 2024-03-18, 2024-03-25
# pattern dw.orders: none
SELECT k FROM orders WHERE date_trunc('month', dt) = date_trunc('month', '{{ ds }}') AND dayofweek(dt) = 2

# name: only on Sundays is no offset
# reads dw.orders: none
# pattern dw.orders: none
SELECT k FROM orders WHERE dt = '{{ ds }}' AND dayofweek('{{ ds }}') = 1

# name: only on Sundays, on one
# window: 2024-03-03
# reads dw.orders: 2024-03-03
# pattern dw.orders: none
SELECT k FROM orders WHERE dt = '{{ ds }}' AND dayofweek('{{ ds }}') = 1

# name: template branch on the date
# reads dw.orders: 2024-03-05
# pattern dw.orders: none
SELECT k FROM orders WHERE dt {% if partition.start.strftime('%d') == '01' %} <= {% else %} = {% endif %} '{{ ds }}'

# name: template branch on the date, other branch
# window: 2024-06-01
# reads dw.orders: ..2024-06-01
# pattern dw.orders: none
SELECT k FROM orders WHERE dt {% if partition.start.strftime('%d') == '01' %} <= {% else %} = {% endif %} '{{ ds }}'

# name: condition of the window alone, passed
# reads dw.orders: 2024-03-05
# pattern dw.orders: none
SELECT k FROM orders WHERE dt = '{{ ds }}' AND '{{ ds }}' >= '2024-01-01'

# name: condition of the window alone, failed
# window: 2023-12-31
# reads dw.orders: none
# pattern dw.orders: none
SELECT k FROM orders WHERE dt = '{{ ds }}' AND '{{ ds }}' >= '2024-01-01'

# name: sentinel partition at the end of time
# reads dw.snapshots: 2024-03-05, 9900-01-02..
# pattern dw.snapshots: none
SELECT k FROM snapshots WHERE dt = '{{ ds }}' OR dt = '9999-12-31'

# name: literal is Python-free
# reads dw.orders: none
# pattern dw.orders: none
SELECT k FROM orders WHERE FALSE

# name: no filter
# reads dw.orders: all
# reason dw.orders: no predicate on dt
# pattern dw.orders: ..
SELECT dt, k FROM orders

# name: other column
# reads dw.orders: all
# reason dw.orders: no predicate on dt
# pattern dw.orders: ..
SELECT dt, k FROM orders WHERE k = 7

# name: OR with another column
# reads dw.orders: all
# pattern dw.orders: ..
SELECT k FROM orders WHERE dt = '{{ ds }}' OR k = 7

# name: wall clock
# reads dw.orders: all
# reason dw.orders: wall clock: current_date()
# pattern dw.orders: ..
SELECT k FROM orders WHERE dt >= current_date() - INTERVAL 7 DAY

# name: wall clock beside a bound
# reads dw.orders: ..2024-03-05
# reason dw.orders: wall clock: now()
# pattern dw.orders: ..start
SELECT k FROM orders WHERE dt >= date_sub(now(), 7) AND dt <= '{{ ds }}'

# name: user function
# reads dw.orders: all
# reason dw.orders: opaque function fiscal_day
# pattern dw.orders: ..
SELECT k FROM orders WHERE fiscal_day(dt) = '{{ ds }}'

# name: coalesce takes NULL in
# reads dw.orders: all
# reason dw.orders: opaque function coalesce
# pattern dw.orders: ..
SELECT k FROM orders WHERE coalesce(dt, '{{ ds }}') = '{{ ds }}'

# name: day or NULL
# reads dw.orders: all
# reason dw.orders: a test for NULL
# pattern dw.orders: ..
SELECT k FROM orders WHERE dt = '{{ ds }}' OR dt IS NULL

# name: last_day with a unit is not last_day
# reads dw.orders: all
# reason dw.orders: opaque function last_day_of
# pattern dw.orders: ..
SELECT k FROM orders WHERE last_day(dt, 'quarter') = '{{ ds }}'

# name: latest day depends on the data
# reads dw.orders: all
# reason dw.orders: a subquery
SELECT k FROM orders WHERE dt = (SELECT MAX(dt) FROM refunds)

# name: latest day up to now
# reads dw.orders: ..2024-03-05
# reads dw.refunds: ..2024-03-05
# pattern dw.orders: ..start
SELECT k FROM orders WHERE dt = (SELECT MAX(dt) FROM refunds WHERE dt <= '{{ ds }}')

# name: hours of the day, date_trunc
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT '{{ ds }}' AS dt, AVG(temp) AS temp FROM weather WHERE date_trunc('day', ts) = '{{ ds }}'

# name: hours of the day, half open
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT AVG(temp) AS temp FROM weather WHERE ts >= '{{ partition.start }}' AND ts < '{{ partition.end }}'

# name: hours of the day, to_date
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT AVG(temp) AS temp FROM weather WHERE to_date(ts) = '{{ ds }}'

# name: hours of the day, date()
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT AVG(temp) AS temp FROM weather WHERE date(ts) = '{{ ds }}'

# name: hours of the day in another time zone
# reads dw.weather: 2024-03-04T16..2024-03-05T15
# pattern dw.weather: start-8..start+15
SELECT AVG(temp) AS temp FROM weather WHERE date(hours_add(ts, 8)) = '{{ ds }}'

# name: hours up to a moment within one
# reads dw.weather: 2024-03-05T00..2024-03-05T06
# pattern dw.weather: start..start+6
SELECT AVG(temp) AS temp FROM weather WHERE ts >= '{{ ds }}' AND ts <= '{{ ds }} 06:30:00'

# name: hours of the morning
# reads dw.weather: 2024-03-05T06..2024-03-05T11
# pattern dw.weather: start+6..start+11
SELECT AVG(temp) AS temp FROM weather WHERE date(ts) = '{{ ds }}' AND ts < hours_add('{{ ds }}', 12) AND ts >= '{{ ds }} 06:00:00'

# name: hours of the morning, by the hour
# reads dw.weather: 2024-03-05T06..2024-03-05T11
# pattern dw.weather: none
SELECT AVG(temp) AS temp FROM weather WHERE date(ts) = '{{ ds }}' AND hour(ts) BETWEEN 6 AND 11

# name: same hour
# grain: hour
# window: 2024-03-05T07
# reads dw.weather: 2024-03-05T07
# pattern dw.weather: start..start
SELECT temp FROM weather WHERE ts >= '{{ partition.start }}' AND ts < '{{ partition.end }}'

# name: same hour, date_trunc
# grain: hour
# window: 2024-03-05T07
# reads dw.weather: 2024-03-05T07
# pattern dw.weather: start..start
SELECT temp FROM weather WHERE date_trunc('hour', ts) = '{{ partition.start }}'

# name: hour from its day
# grain: hour
# window: 2024-03-05T07
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
SELECT k FROM orders WHERE dt = '{{ ds }}'

# name: trailing day of hours over midnight
# grain: hour
# window: 2024-03-05T07
# reads dw.orders: 2024-03-04..2024-03-05
SELECT k FROM orders WHERE dt >= date(date_sub('{{ partition.start }}', INTERVAL 12 HOUR)) AND dt <= date('{{ partition.start }}')

# name: DATETIME in daily partitions
# reads dw.events: 2024-03-05
# pattern dw.events: start..start
SELECT k FROM events WHERE ts >= '{{ partition.start }}' AND ts < '{{ partition.end }}'

# name: DATETIME in daily partitions, closed end reads one more
# reads dw.events: 2024-03-05..2024-03-06
# pattern dw.events: start..start+1
SELECT k FROM events WHERE ts BETWEEN '{{ partition.start }}' AND '{{ partition.end }}'

# name: DATETIME in daily partitions, after a second of the evening
# reads dw.events: 2024-03-05..
# pattern dw.events: start..
SELECT k FROM events WHERE ts > '{{ ds }} 23:59:59'

# name: DATETIME equal to a day means midnight
# reads dw.events: 2024-03-05
# pattern dw.events: start..start
SELECT k FROM events WHERE ts = '{{ ds }}'

# name: DATETIME unequal excludes no day
# reads dw.events: all
SELECT k FROM events WHERE ts <> '{{ ds }}'

# name: days of the month
# grain: month
# window: 2024-02
# reads dw.orders: 2024-02-01..2024-02-29
# pattern dw.orders: start..end
SELECT k FROM orders WHERE dt >= '{{ partition.start }}' AND dt < '{{ partition.end }}'

# name: days of the month, date_trunc
# grain: month
# window: 2024-02
# reads dw.orders: 2024-02-01..2024-02-29
# pattern dw.orders: start..end
SELECT k FROM orders WHERE date_trunc('month', dt) = '{{ partition.start }}'

# name: days of the month, last_day
# grain: month
# window: 2024-02
# reads dw.orders: 2024-02-01..2024-02-29
# pattern dw.orders: start..end
SELECT k FROM orders WHERE dt BETWEEN date_trunc('month', '{{ partition.start }}') AND last_day('{{ partition.start }}')

# name: days of the week
# grain: week
# window: 2024-W10
# reads dw.orders: 2024-03-04..2024-03-10
# pattern dw.orders: start..start+6
SELECT k FROM orders WHERE dt >= '{{ partition.start }}' AND dt < '{{ partition.end }}'

# name: months of the quarter
# grain: quarter
# window: 2024-Q1
# reads dw.budget: 2024-01..2024-03
# pattern dw.budget: start..start+2
SELECT SUM(amount) AS amount FROM budget WHERE month >= '{{ partition.start }}' AND month < '{{ partition.end }}'

# name: same month, month before
# grain: month
# window: 2024-03
# reads dw.budget: 2024-02..2024-03
# pattern dw.budget: start-1..start
SELECT amount FROM budget WHERE month >= '{{ partition.start.add(months=-1) }}' AND month < '{{ partition.end }}'

# name: trailing twelve months
# grain: month
# window: 2024-03
# reads dw.budget: 2023-04..2024-03
# pattern dw.budget: start-11..start
SELECT amount FROM budget WHERE month > months_sub('{{ ds }}', 12) - INTERVAL 1 DAY + INTERVAL 1 DAY AND date_trunc('month', month) <= '{{ ds }}' AND date_trunc('month', month) > months_sub('{{ ds }}', 12)

# name: month of the day
# reads dw.budget: 2024-03
# pattern dw.budget: start..start
SELECT amount FROM budget WHERE month = date_trunc('month', CAST('{{ partition.start }}' AS DATE))

# name: quarter of the day
# reads dw.quarterly: 2024-Q1
# pattern dw.quarterly: start..start
SELECT amount FROM quarterly WHERE quarter = date_trunc('quarter', '{{ ds }}')

# name: week of the day
# reads dw.weekly: 2024-W10
# pattern dw.weekly: start..start
SELECT amount FROM weekly WHERE week = date_trunc('week', '{{ ds }}')

# name: year of the day, int column
# reads dw.plans: 2024
# pattern dw.plans: start..start
SELECT amount FROM plans WHERE year = year('{{ ds }}')

# name: month of the day, day predicate on a month table
# reads dw.budget: 2024-03
# pattern dw.budget: start..start
SELECT amount FROM budget WHERE month = '{{ ds }}'

# name: text column, ISO
# reads dw.iso_text: 2024-02-28..2024-03-05
# pattern dw.iso_text: start-6..start
SELECT k FROM iso_text WHERE dt BETWEEN '{{ macros.ds_add(ds, -6) }}' AND '{{ ds }}'

# name: text column, ISO, date arithmetic
# reads dw.iso_text: 2024-03-04
# pattern dw.iso_text: start-1..start-1
SELECT k FROM iso_text WHERE CAST(dt AS DATE) = date_sub('{{ ds }}', 1)

# name: text column, compact
# reads dw.compact_text: 2024-03-05
# pattern dw.compact_text: start..start
SELECT k FROM compact_text WHERE dt = '{{ ds_nodash }}'

# name: text column, compact, replaced dashes
# reads dw.compact_text: 2024-03-05
# pattern dw.compact_text: start..start
SELECT k FROM compact_text WHERE dt = replace('{{ ds }}', '-', '')

# name: text column, compact, parsed
# reads dw.compact_text: 2024-02-28..2024-03-05
# pattern dw.compact_text: start-6..start
SELECT k FROM compact_text WHERE str_to_date(dt, '%Y%m%d') > date_sub('{{ ds }}', 7) AND str2date(dt, '%Y%m%d') <= '{{ ds }}'

# name: text column, compact, formatted bound
# reads dw.compact_text: 2024-02-28..2024-03-05
# pattern dw.compact_text: start-6..start
SELECT k FROM compact_text WHERE dt >= date_format(date_sub('{{ ds }}', 6), '%Y%m%d') AND dt <= date_format('{{ ds }}', '%Y%m%d')

# name: text column of months
# reads dw.month_text: 2024-03
# pattern dw.month_text: start..start
SELECT k FROM month_text WHERE ym = date_format('{{ ds }}', '%Y-%m')

# name: text column of months, made a date
# reads dw.month_text: 2024-03
# pattern dw.month_text: start..start
SELECT k FROM month_text WHERE concat(ym, '-01') = date_format('{{ ds }}', '%Y-%m-01')

# name: int column
# reads dw.compact_int: 2024-03-05
# pattern dw.compact_int: start..start
SELECT k FROM compact_int WHERE dt = {{ ds_nodash }}

# name: int column against text
# reads dw.compact_int: 2024-03-05
# pattern dw.compact_int: start..start
SELECT k FROM compact_int WHERE dt = '{{ ds_nodash }}'

# name: int column against a date is not certain
# reads dw.compact_int: all
SELECT k FROM compact_int WHERE dt = CAST('{{ ds }}' AS DATE)

# name: list, same value
# list: LA NY
# window: LA
# reads dw.by_region: LA
# pattern dw.by_region: none
SELECT k, region FROM by_region WHERE region = '{{ partition.key }}'

# name: list, two values
# reads dw.by_region: NY..SF
SELECT k, region FROM by_region WHERE region IN ('NY', 'SF')

# name: list, all but one
# reads dw.by_region: LA..NY, la
SELECT k, region FROM by_region WHERE region <> 'SF'

# name: list, function of the value
# reads dw.by_region: LA, la
SELECT k, region FROM by_region WHERE lower(region) = 'la'

# name: list, no filter
# reads dw.by_region: all
# reason dw.by_region: no predicate on region
SELECT k, region FROM by_region WHERE dt = '{{ ds }}'

# name: unpartitioned from all
# grain: none
# reads dw.orders: all
# pattern dw.orders: ..
SELECT k, SUM(amount) AS amount FROM orders GROUP BY k

# name: unpartitioned from a fixed year
# grain: none
# reads dw.orders: 2024-01-01..2024-12-31
# pattern dw.orders: none
SELECT k FROM orders WHERE year(dt) = 2024

# name: join with an unpartitioned table
# tables: dw.orders dw.customers
# reads dw.orders: 2024-03-05
# reads dw.customers: all
# pattern dw.customers: ..
SELECT o.k, c.name FROM orders o JOIN customers c ON c.k = o.k WHERE o.dt = '{{ ds }}'

# name: inner join on the day, WHERE on one
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
# pattern dw.refunds: start..start
SELECT o.k FROM orders o JOIN refunds r ON r.k = o.k AND r.dt = o.dt WHERE o.dt = '{{ ds }}'

# name: comma join
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT o.k FROM orders o, refunds r WHERE r.k = o.k AND r.dt = o.dt AND o.dt = '{{ ds }}'

# name: left join on the day
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT o.k, r.amount FROM orders o LEFT JOIN refunds r ON r.k = o.k AND r.dt = o.dt WHERE o.dt = '{{ ds }}'

# name: left join, ON does not filter the left
# reads dw.orders: all
# reads dw.refunds: 2024-03-05
SELECT o.k, r.amount FROM orders o LEFT JOIN refunds r ON r.k = o.k AND r.dt = '{{ ds }}' AND o.dt = '{{ ds }}'

# name: left join, WHERE on the right filters both
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT o.k FROM orders o LEFT JOIN refunds r ON r.k = o.k AND r.dt = o.dt WHERE r.dt = '{{ ds }}' AND o.dt = '{{ ds }}'

# name: left join, WHERE or NULL
# reads dw.orders: 2024-03-05
# reads dw.refunds: all
SELECT o.k FROM orders o LEFT JOIN refunds r ON r.k = o.k WHERE (r.dt = '{{ ds }}' OR r.dt IS NULL) AND o.dt = '{{ ds }}'

# name: right join
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT r.k, o.amount FROM orders o RIGHT JOIN refunds r ON r.k = o.k AND r.dt = o.dt WHERE r.dt = '{{ ds }}'

# name: right join, ON does not filter the right
# reads dw.orders: 2024-03-05
# reads dw.refunds: all
SELECT r.k, o.amount FROM orders o RIGHT JOIN refunds r ON r.k = o.k AND o.dt = '{{ ds }}' AND r.dt = '{{ ds }}'

# name: full join, ON filters nothing
# reads dw.orders: all
# reads dw.refunds: all
SELECT o.k, r.k AS rk FROM orders o FULL JOIN refunds r ON r.k = o.k AND o.dt = '{{ ds }}' AND r.dt = '{{ ds }}'

# name: full join over filtered subqueries
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT coalesce(o.k, r.k) AS k FROM (SELECT k FROM orders WHERE dt = '{{ ds }}') o
FULL JOIN (SELECT k FROM refunds WHERE dt = '{{ ds }}') r ON r.k = o.k

# name: full join, USING
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT dt FROM orders FULL JOIN refunds USING (dt) WHERE dt = '{{ ds }}'

# name: inner join, USING
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT dt, k FROM orders JOIN refunds USING (dt, k) WHERE dt = '{{ ds }}'

# name: full join and another USING is not followed
# reads dw.orders: all
# reads dw.refunds: all
# reads dw.snapshots: all
SELECT dt FROM orders FULL JOIN refunds USING (dt) JOIN snapshots USING (dt) WHERE dt = '{{ ds }}'

# name: semi join
# tables: dw.orders dw.refunds
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT o.k FROM orders o LEFT SEMI JOIN refunds r ON r.k = o.k AND r.dt = o.dt WHERE o.dt = '{{ ds }}'

# name: anti join
# tables: dw.orders dw.refunds
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-02-28..2024-03-05
SELECT o.k FROM orders o LEFT ANTI JOIN refunds r ON r.k = o.k AND r.dt > date_sub('{{ ds }}', 7) AND r.dt <= '{{ ds }}' WHERE o.dt = '{{ ds }}'

# name: anti join does not filter the left
# reads dw.orders: all
# reads dw.refunds: 2024-03-05
SELECT o.k FROM orders o LEFT ANTI JOIN refunds r ON r.k = o.k AND o.dt = r.dt AND r.dt = '{{ ds }}'

# name: hints in brackets
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT /*+ SET_VAR(query_timeout=10) */ o.k FROM orders o JOIN [broadcast] refunds r ON r.k = o.k AND r.dt = o.dt WHERE o.dt = '{{ ds }}'

# name: join of two grains, trunc of the finer
# reads dw.orders: 2024-03-05
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT o.k, w.temp FROM orders o JOIN weather w ON date_trunc('day', w.ts) = o.dt WHERE o.dt = '{{ ds }}'

# name: join of two grains, range
# reads dw.orders: 2024-03-05
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT o.k, w.temp FROM orders o JOIN weather w ON w.ts >= o.dt AND w.ts < o.dt + INTERVAL 1 DAY WHERE o.dt = '{{ ds }}'

# name: join of two grains, from the finer
# reads dw.orders: 2024-03-05
# reads dw.weather: 2024-03-05T00..2024-03-05T23
SELECT o.k, w.temp FROM weather w JOIN orders o ON o.dt = date(w.ts) WHERE w.ts >= '{{ ds }}' AND w.ts < '{{ partition.end }}'

# name: join of day and month
# reads dw.orders: 2024-03-05
# reads dw.budget: 2024-03
# pattern dw.budget: start..start
SELECT o.k, b.amount FROM orders o LEFT JOIN budget b ON b.month = date_trunc('month', o.dt) AND b.k = o.k WHERE o.dt = '{{ ds }}'

# name: join with the day before
# reads dw.orders: 2024-03-05
# reads dw.snapshots: 2024-03-04
# pattern dw.snapshots: start-1..start-1
SELECT o.k FROM orders o LEFT JOIN snapshots s ON s.dt = date_sub(o.dt, 1) AND s.k = o.k WHERE o.dt = '{{ ds }}'

# name: join with the trailing week of each row
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-02-28..2024-03-05
# pattern dw.refunds: start-6..start
SELECT o.k, SUM(r.amount) AS amount FROM orders o JOIN refunds r ON r.dt BETWEEN o.dt - INTERVAL 6 DAY AND o.dt WHERE o.dt = '{{ ds }}' GROUP BY o.k

# name: chain of joins
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
# reads dw.snapshots: 2024-03-05
SELECT o.k FROM orders o JOIN refunds r ON r.dt = o.dt LEFT JOIN snapshots s ON s.dt = r.dt AND s.k = r.k WHERE o.dt = '{{ ds }}'

# name: chain of joins, bound at its end
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
# reads dw.snapshots: 2024-03-05
SELECT o.k FROM orders o JOIN refunds r ON r.dt = o.dt JOIN snapshots s ON s.dt = r.dt WHERE s.dt = '{{ ds }}'

# name: bound in the ON of the left join it serves
# reads dw.orders: all
# reads dw.refunds: all
# reads dw.snapshots: 2024-03-05
SELECT o.k FROM orders o LEFT JOIN refunds r ON r.k = o.k LEFT JOIN snapshots s ON s.dt = r.dt AND r.dt = '{{ ds }}'

# name: calendar table
# reads dw.orders: 2024-03-05
SELECT o.k FROM orders o JOIN days d ON d.day = o.dt WHERE d.day = '{{ ds }}' AND NOT d.holiday

# name: self join with the week before
# reads dw.orders: 2024-02-27, 2024-03-05
# pattern dw.orders: start-7..start-7, start..start
SELECT a.k FROM orders a LEFT JOIN orders b ON b.k = a.k AND b.dt = date_sub(a.dt, 7) WHERE a.dt = '{{ ds }}'

# name: parenthesized join is read as a whole
# reads dw.orders: 2024-03-05
# reads dw.refunds: all
# reads dw.snapshots: all
SELECT o.k FROM orders o JOIN (refunds r JOIN snapshots s ON r.k = s.k AND s.dt = '{{ ds }}') ON o.k = r.k WHERE o.dt = '{{ ds }}'

# name: CTE
# reads dw.orders: 2024-03-05
# pattern dw.orders: start..start
WITH today AS (SELECT * FROM orders WHERE dt = '{{ ds }}') SELECT k FROM today

# name: CTE, filtered outside
# reads dw.orders: 2024-03-05
WITH everything AS (SELECT dt, k FROM orders) SELECT k FROM everything WHERE dt = '{{ ds }}'

# name: CTE, renamed and shifted column
# reads dw.orders: 2024-03-04
# pattern dw.orders: start-1..start-1
WITH next AS (SELECT date_add(dt, 1) AS on_day, k FROM orders) SELECT k FROM next WHERE on_day = '{{ ds }}'

# name: CTE with a column list
# reads dw.orders: 2024-03-05
WITH c (a, b) AS (SELECT dt, k FROM orders) SELECT b FROM c WHERE a = '{{ ds }}'

# name: CTE used twice
# reads dw.orders: 2024-02-27, 2024-03-05
WITH o AS (SELECT dt, k, amount FROM orders)
SELECT a.k FROM o a LEFT JOIN o b ON a.k = b.k AND b.dt = date_sub('{{ ds }}', 7) WHERE a.dt = '{{ ds }}'

# name: CTE used twice, once as a whole
# reads dw.orders: all
WITH o AS (SELECT dt, k FROM orders) SELECT k FROM o WHERE dt = '{{ ds }}' UNION ALL SELECT k FROM o

# name: CTE with the name of its table
# tables: dw.orders
# reads dw.orders: 2024-03-05
WITH orders AS (SELECT * FROM dw.orders) SELECT k FROM orders WHERE dt = '{{ ds }}'

# name: chain of CTEs with a group on the day
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: start-6..start
WITH daily AS (SELECT dt, k, SUM(amount) AS amount FROM orders GROUP BY dt, k),
named AS (SELECT d.dt AS day, d.amount, c.name FROM daily d JOIN customers c ON c.k = d.k)
SELECT name, SUM(amount) AS amount FROM named WHERE day > date_sub('{{ ds }}', 7) AND day <= '{{ ds }}' GROUP BY name

# name: recursive CTE
# tables: dw.orders
# reads dw.orders: 2024-03-05
WITH RECURSIVE r AS (SELECT k, 1 AS n FROM orders WHERE dt = '{{ ds }}' UNION ALL SELECT k, n + 1 FROM r WHERE n < 3) SELECT k FROM r

# name: condition on a recursive CTE is not pushed
# reads dw.orders: all
WITH RECURSIVE r AS (SELECT dt, k FROM orders UNION ALL SELECT date_add(dt, 1), k FROM r WHERE dt < '2024-01-01') SELECT k FROM r WHERE dt = '{{ ds }}'

# name: group by the day, filtered outside
# reads dw.orders: 2024-03-05
SELECT * FROM (SELECT dt, COUNT(*) AS n FROM orders GROUP BY dt) x WHERE x.dt = '{{ ds }}'

# name: group by another column, filtered outside
# reads dw.orders: all
SELECT * FROM (SELECT k, MAX(dt) AS dt FROM orders GROUP BY k) x WHERE x.dt = '{{ ds }}'

# name: group by the month of the day, filtered outside
# reads dw.orders: 2024-03-01..2024-03-31
SELECT * FROM (SELECT date_trunc('month', dt) AS m, COUNT(*) AS n FROM orders GROUP BY 1) x WHERE m = date_trunc('month', '{{ ds }}')

# name: rollup on the day, filtered outside
# reads dw.orders: 2024-03-05
SELECT * FROM (SELECT dt, k, COUNT(*) AS n FROM orders GROUP BY ROLLUP (dt, k)) x WHERE x.dt = '{{ ds }}'

# name: HAVING on the key
# reads dw.orders: 2024-03-05
SELECT dt, COUNT(*) AS n FROM orders GROUP BY dt HAVING dt = '{{ ds }}'

# name: HAVING on an aggregate
# reads dw.orders: all
SELECT k, MAX(dt) AS last FROM orders GROUP BY k HAVING MAX(dt) = '{{ ds }}'

# name: DISTINCT
# reads dw.orders: 2024-03-05
SELECT * FROM (SELECT DISTINCT dt, k FROM orders) x WHERE x.dt = '{{ ds }}'

# name: LIMIT stops a condition
# reads dw.orders: all
SELECT * FROM (SELECT dt, k FROM orders ORDER BY k LIMIT 10) x WHERE x.dt = '{{ ds }}'

# name: LIMIT with its own WHERE
# reads dw.orders: 2024-03-05
SELECT * FROM (SELECT dt, k FROM orders WHERE dt = '{{ ds }}' ORDER BY k LIMIT 10) x

# name: LIMIT on a union
# reads dw.orders: all
# reads dw.refunds: all
SELECT * FROM ((SELECT dt FROM orders) UNION ALL (SELECT dt FROM refunds) LIMIT 5) x WHERE dt = '{{ ds }}'

# name: window over history
# reads dw.orders: all
SELECT * FROM (SELECT dt, k, LAG(amount) OVER (PARTITION BY k ORDER BY dt) AS before FROM orders) x WHERE x.dt = '{{ ds }}'

# name: window within the day
# reads dw.orders: 2024-03-05
SELECT * FROM (SELECT dt, k, ROW_NUMBER() OVER (PARTITION BY dt, k ORDER BY amount) AS rn FROM orders) x WHERE x.dt = '{{ ds }}' AND rn = 1

# name: two windows, one of them over history
# reads dw.orders: all
SELECT * FROM (SELECT dt, ROW_NUMBER() OVER (PARTITION BY dt ORDER BY k) AS rn, SUM(amount) OVER (PARTITION BY k) AS s FROM orders) x WHERE x.dt = '{{ ds }}'

# name: QUALIFY
# reads dw.orders: ..2024-03-05
SELECT dt, k FROM orders WHERE dt <= '{{ ds }}' QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY dt DESC) = 1 AND dt = '{{ ds }}'

# name: window with a hint
# reads dw.orders: 2024-03-05
SELECT k, ROW_NUMBER() OVER ([hash] PARTITION BY k ORDER BY amount) AS rn FROM orders WHERE dt = '{{ ds }}'

# name: union of two tables, filtered outside
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT * FROM (SELECT dt, k FROM orders UNION ALL SELECT dt AS refunded, k FROM refunds) x WHERE x.dt = '{{ ds }}'

# name: union with different days
# reads dw.orders: 2024-03-04..2024-03-05
# pattern dw.orders: start-1..start
SELECT k FROM orders WHERE dt = '{{ ds }}' UNION ALL SELECT k FROM orders WHERE dt = date_sub('{{ ds }}', 1)

# name: union by position, not by name
# reads dw.orders: 2024-03-05
# reads dw.snapshots: all
SELECT * FROM (SELECT dt, dt AS other FROM orders UNION ALL SELECT valid_to, dt FROM snapshots) x WHERE x.dt = '{{ ds }}'

# name: EXCEPT
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT * FROM (SELECT dt, k FROM orders EXCEPT SELECT dt, k FROM refunds) x WHERE x.dt = '{{ ds }}'

# name: MINUS
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT k FROM orders WHERE dt = '{{ ds }}' MINUS SELECT k FROM refunds WHERE dt = '{{ ds }}'

# name: constant day of a branch
# reads dw.orders: none
# reads dw.refunds: 2024-03-05
SELECT * FROM (SELECT '2023-01-01' AS dt, k FROM orders UNION ALL SELECT dt, k FROM refunds) x WHERE x.dt = '{{ ds }}'

# name: IN subquery bounds both
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT k FROM orders WHERE dt = '{{ ds }}' AND dt IN (SELECT dt FROM refunds)

# name: IN subquery with the bound inside
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT k FROM orders WHERE dt IN (SELECT dt FROM refunds WHERE dt = '{{ ds }}')

# name: NOT IN subquery reads all: a NULL in it counts
# reads dw.orders: 2024-03-05
# reads dw.refunds: all
SELECT k FROM orders WHERE dt = '{{ ds }}' AND dt NOT IN (SELECT dt FROM refunds)

# name: correlated EXISTS
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT k FROM orders o WHERE o.dt = '{{ ds }}' AND EXISTS (SELECT 1 FROM refunds r WHERE r.dt = o.dt AND r.k = o.k)

# name: correlated NOT EXISTS
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-02-28..2024-03-05
SELECT k FROM orders o WHERE o.dt = '{{ ds }}' AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.k = o.k AND r.dt > date_sub(o.dt, 7) AND r.dt <= o.dt)

# name: scalar subquery in the output
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT k, (SELECT SUM(r.amount) FROM refunds r WHERE r.dt = o.dt AND r.k = o.k) AS back FROM orders o WHERE o.dt = '{{ ds }}'

# name: scalar subquery without a filter
# tables: dw.orders dw.refunds
# reads dw.orders: 2024-03-05
# reads dw.refunds: all
SELECT k, (SELECT MAX(amount) FROM refunds) AS most FROM orders WHERE dt = '{{ ds }}'

# name: subquery in HAVING
# tables: dw.orders dw.refunds
# reads dw.orders: 2024-03-05
# reads dw.refunds: all
SELECT k FROM orders WHERE dt = '{{ ds }}' GROUP BY k HAVING SUM(amount) > (SELECT AVG(amount) FROM refunds)

# name: unnest
# tables: dw.orders dw.customers
# reads dw.orders: 2024-03-05
SELECT o.k, t.tag FROM orders o JOIN customers c ON c.k = o.k, UNNEST(split(c.tags, ',')) AS t(tag) WHERE o.dt = '{{ ds }}'

# name: ASOF join filters the right after the pick
# reads dw.orders: 2024-03-05
# reads dw.snapshots: ..2024-03-05
SELECT o.k FROM orders o ASOF LEFT JOIN snapshots s ON s.k = o.k AND o.dt >= s.dt WHERE o.dt = '{{ ds }}' AND s.dt = '{{ ds }}'

# name: PARTITION clause is no bound, the rest is
# reads dw.orders: 2024-03-05
SELECT k FROM orders PARTITION (p{{ ds_nodash }}) WHERE dt = '{{ ds }}'

# name: PARTITION clause alone
# reads dw.orders: all
SELECT k FROM orders PARTITION p20240305 WHERE k > 0

# name: sample
# reads dw.orders: 2024-03-05
SELECT k FROM orders SAMPLE('percent' = '10') WHERE dt = '{{ ds }}'

# name: other catalog
# tables: lake.raw.clicks
# reads lake.raw.clicks: 2024-03-05
SELECT k FROM lake.raw.clicks WHERE dt = '{{ ds }}'

# name: default catalog by name
# tables: dw.orders
# reads dw.orders: 2024-03-05
SELECT k FROM default_catalog.dw.orders WHERE dt = '{{ ds }}'

# name: files and dual are no tables
# tables:
SELECT * FROM FILES('path' = 's3://a/b', 'format' = 'parquet') f, dual

# name: table names are case-sensitive
# tables: dw.Orders
SELECT k FROM Orders WHERE dt = '{{ ds }}'

# name: unknown schema, one table
# reads dw.unknown: 2024-03-05
# pattern dw.unknown: start..start
SELECT dt, anything FROM unknown WHERE dt = '{{ ds }}'

# name: unknown schema, alias hides nothing
# reads dw.unknown: 2024-03-05
SELECT date_trunc('month', dt) AS dt FROM unknown WHERE dt = '{{ ds }}'

# name: unknown schema, join with qualified columns
# reads dw.unknown: 2024-03-05
# reads dw.orders: 2024-03-05
SELECT u.a, o.k FROM unknown u JOIN orders o ON o.dt = u.dt WHERE u.dt = '{{ ds }}'

# name: unknown schema, unqualified column in a join
# reads dw.unknown: all
SELECT a FROM unknown u JOIN nowhere n ON n.k = u.k WHERE dt = '{{ ds }}'

# name: self read of the day before
# tables: dw.orders dw.snapshots
# reads dw.orders: 2024-03-05
# reads dw.snapshots: 2024-03-04
# pattern dw.snapshots: start-1..start-1
SELECT '{{ ds }}' AS dt, coalesce(o.k, s.k) AS k
FROM (SELECT k FROM orders WHERE dt = '{{ ds }}') o FULL JOIN (SELECT k FROM snapshots WHERE dt = date_sub('{{ ds }}', INTERVAL 1 DAY)) s ON s.k = o.k

# name: MATCH on an index
# reads dw.orders: 2024-03-05
SELECT k FROM orders WHERE status MATCH 'late' AND dt = '{{ ds }}'

# name: greatest of two bounds is no offset
# reads dw.orders: 2024-02-28..2024-03-05
# pattern dw.orders: none
SELECT k FROM orders WHERE dt >= greatest('2023-01-10', date_sub('{{ ds }}', 6)) AND dt <= '{{ ds }}'

# name: minus a whole year
# reads dw.orders: 2023-03-05
# pattern dw.orders: none
SELECT k FROM orders WHERE dt = years_sub('{{ ds }}', 1)

# name: date_floor
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT temp FROM weather WHERE date_floor(ts, INTERVAL 1 DAY) = '{{ ds }}'

# name: time_slice
# reads dw.weather: 2024-03-05T00..2024-03-05T23
# pattern dw.weather: start..start+23
SELECT temp FROM weather WHERE time_slice(ts, INTERVAL 1 DAY) = '{{ ds }}'

# name: NULL-safe equality
# reads dw.orders: 2024-03-05
SELECT k FROM orders WHERE dt <=> CAST('{{ ds }}' AS DATE)

# name: comparison with NULL
# reads dw.orders: none
SELECT k FROM orders WHERE dt = NULL

# name: IS NOT NULL beside a bound
# reads dw.orders: 2024-03-05
SELECT k FROM orders WHERE dt IS NOT NULL AND dt = '{{ ds }}'

# name: CASE in a condition
# reads dw.orders: all
# reason dw.orders: opaque function case
SELECT k FROM orders WHERE CASE WHEN dt = '{{ ds }}' THEN 1 ELSE 0 END = 1

# name: recursive CTE that joins a table day by day
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-01-02..
WITH RECURSIVE r AS (
  SELECT dt, k FROM orders WHERE dt = '{{ ds }}'
  UNION ALL
  SELECT o.dt, o.k FROM r JOIN refunds o ON o.dt = date_sub(r.dt, 1) AND o.k = r.k WHERE o.dt > '2024-01-01'
)
SELECT k FROM r

# name: anti join by IS NULL
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT o.k FROM orders o LEFT JOIN refunds r ON r.dt = o.dt AND r.k = o.k WHERE o.dt = '{{ ds }}' AND r.k IS NULL

# name: condition as a column of a subquery
# reads dw.orders: 2024-03-05
SELECT k FROM (SELECT k, dt = '{{ ds }}' AS is_today FROM orders) x WHERE is_today

# name: conditional aggregate excludes nothing
# reads dw.orders: 2024-02-05..2024-03-05
# pattern dw.orders: start-29..start
SELECT SUM(IF(dt = '{{ ds }}', amount, 0)) AS today FROM orders WHERE dt > date_sub('{{ ds }}', 30) AND dt <= '{{ ds }}'

# name: bound of an EXISTS does not reach out of OR
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
SELECT k FROM orders o WHERE o.dt = '{{ ds }}' AND (o.k = 1 OR EXISTS (SELECT 1 FROM refunds r WHERE r.dt = o.dt))

# name: root in parentheses
# reads dw.orders: 2024-03-05
# reads dw.refunds: 2024-03-05
((SELECT k FROM orders WHERE dt = '{{ ds }}') UNION (SELECT k FROM refunds WHERE dt = '{{ ds }}')) ORDER BY 1
