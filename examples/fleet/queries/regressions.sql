-- Functions whose cost at the newest commit of the branch differs from the last commit of main by more than three times the
-- noise. The noise is the spread of the function's cost at the last ten commits of main. The branch is the newest one that is not
-- main; run --branch chooses another.
WITH latest AS (
  SELECT commit, position, max(position) OVER () AS last_position FROM commits
), tips AS (
  SELECT bench, commit
  FROM (
    SELECT r.bench, r.commit, row_number() OVER (PARTITION BY r.bench ORDER BY max(r.taken) DESC, r.commit DESC) AS age
    FROM runs r JOIN chosen_branch b ON b.branch = r.branch GROUP BY r.bench, r.commit
  ) ages WHERE age = 1
), main AS (
  SELECT f.bench, f.fn, count(*) AS commits, stddev_pop(f.cost) AS noise,
         max(CASE WHEN l.position = l.last_position THEN f.cost ELSE 0 END) AS cost
  FROM functions f JOIN latest l ON l.commit = f.commit JOIN tips t ON t.bench = f.bench
  WHERE l.position > l.last_position - 10 GROUP BY f.bench, f.fn
), branch AS (
  SELECT f.bench, f.fn, f.cost FROM functions f JOIN tips t ON t.bench = f.bench AND t.commit = f.commit
)
SELECT coalesce(b.bench, m.bench) AS bench, coalesce(b.fn, m.fn) AS fn, cast(coalesce(m.cost, 0) AS BIGINT) AS main,
       cast(coalesce(b.cost, 0) AS BIGINT) AS branch, cast(coalesce(b.cost, 0) - coalesce(m.cost, 0) AS BIGINT) AS delta,
       round(coalesce(m.noise, 0)) AS noise
FROM branch b FULL OUTER JOIN main m ON m.bench = b.bench AND m.fn = b.fn
WHERE abs(coalesce(b.cost, 0) - coalesce(m.cost, 0)) > 3 * coalesce(m.noise, 0)
  AND abs(coalesce(b.cost, 0) - coalesce(m.cost, 0)) > 0.005 * coalesce(m.cost, 0)
ORDER BY delta DESC, bench, fn;
