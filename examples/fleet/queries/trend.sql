-- The most expensive function of main over the commits. One row per benchmark and commit at which its cost changed.
WITH hottest AS (
  SELECT fn FROM functions JOIN commits USING (commit) GROUP BY fn ORDER BY sum(cost) DESC, fn LIMIT 1
), costs AS (
  SELECT bench, position, commit, fn, cost, lag(cost) OVER (PARTITION BY bench ORDER BY position) AS before
  FROM functions JOIN commits USING (commit) JOIN hottest USING (fn)
)
SELECT bench, position, commit, fn, cast(cost AS BIGINT) AS cost, cast(cost - before AS BIGINT) AS delta
FROM costs WHERE before IS NULL OR cost <> before ORDER BY bench, position;
