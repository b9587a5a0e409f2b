-- Functions of main whose cost differs by more than 1 % between at least half of the commits. A limit on them is unreliable.
WITH steps AS (
  SELECT bench, fn, cost, abs(cost - lag(cost) OVER (PARTITION BY bench, fn ORDER BY position)) AS moved
  FROM functions JOIN commits USING (commit)
)
SELECT bench, fn, count(*) AS commits, sum(CASE WHEN moved > 0.01 * cost THEN 1 ELSE 0 END) AS moves,
       round(avg(cost)) AS mean, round(stddev_pop(cost)) AS spread
FROM steps GROUP BY bench, fn
HAVING sum(CASE WHEN moved > 0.01 * cost THEN 1 ELSE 0 END) * 2 > count(*) AND avg(cost) > 1000
ORDER BY bench, fn;
