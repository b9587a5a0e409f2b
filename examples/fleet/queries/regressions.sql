-- Functions whose cost on the branch differs from the last commit of main by more than three times the noise. The noise is the
-- spread of the function's cost at the last ten commits of main.
WITH latest AS (
  SELECT commit, position, max(position) OVER () AS last_position FROM commits
), main AS (
  SELECT f.bench, f.fn, count(*) AS commits, stddev_pop(f.cost) AS noise,
         max(CASE WHEN l.position = l.last_position THEN f.cost ELSE 0 END) AS cost
  FROM functions f JOIN latest l ON l.commit = f.commit WHERE l.position > l.last_position - 10 GROUP BY f.bench, f.fn
), branch AS (
  SELECT f.bench, f.fn, f.cost FROM functions f
  JOIN (SELECT DISTINCT bench, commit FROM runs WHERE branch = 'feature') r ON r.bench = f.bench AND r.commit = f.commit
)
SELECT coalesce(b.bench, m.bench) AS bench, coalesce(b.fn, m.fn) AS fn, cast(coalesce(m.cost, 0) AS BIGINT) AS main,
       cast(coalesce(b.cost, 0) AS BIGINT) AS branch, cast(coalesce(b.cost, 0) - coalesce(m.cost, 0) AS BIGINT) AS delta,
       round(coalesce(m.noise, 0)) AS noise
FROM branch b FULL OUTER JOIN main m ON m.bench = b.bench AND m.fn = b.fn
WHERE abs(coalesce(b.cost, 0) - coalesce(m.cost, 0)) > 3 * coalesce(m.noise, 0)
  AND abs(coalesce(b.cost, 0) - coalesce(m.cost, 0)) > 0.005 * coalesce(m.cost, 0)
ORDER BY delta DESC, bench, fn;
