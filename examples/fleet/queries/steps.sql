-- Commits with a lasting change of a function's cost, with the mean and spread of the ten commits before and the ten commits
-- from there on. A step is more than 1 % of the mean, more than three times both spreads, and the largest in its
-- neighbourhood. The cost of a function is 0 in profiles without it.
WITH benches AS (
  SELECT DISTINCT bench, commit, position FROM runs JOIN commits USING (commit) CROSS JOIN chosen WHERE array_contains(events, event)
), grid AS (
  SELECT b.bench, b.commit, b.position, f.fn
  FROM benches b JOIN (SELECT DISTINCT bench, fn FROM functions) f ON f.bench = b.bench
), costs AS (
  SELECT g.bench, g.fn, g.commit, g.position, coalesce(f.cost, 0) AS cost
  FROM grid g LEFT JOIN functions f ON f.bench = g.bench AND f.fn = g.fn AND f.commit = g.commit
), windows AS (
  SELECT bench, fn, commit, position,
         count(*) OVER earlier AS commits_before, avg(cost) OVER earlier AS mean_before, stddev_pop(cost) OVER earlier AS spread_before,
         count(*) OVER later AS commits_after, avg(cost) OVER later AS mean_after, stddev_pop(cost) OVER later AS spread_after
  FROM costs
  WINDOW earlier AS (PARTITION BY bench, fn ORDER BY position ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING),
         later AS (PARTITION BY bench, fn ORDER BY position ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING)
), steps AS (
  SELECT *, abs(mean_after - mean_before) AS height,
         max(abs(mean_after - mean_before)) OVER (PARTITION BY bench, fn ORDER BY position ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING) AS highest
  FROM windows WHERE commits_before >= 3 AND commits_after >= 3
)
SELECT bench, fn, commit, round(mean_before) AS mean_before, round(mean_after) AS mean_after, round(spread_before) AS spread_before,
       round(spread_after) AS spread_after, commits_before, commits_after
FROM steps
WHERE height = highest AND height > 0.01 * mean_before AND height > 3 * (spread_before + spread_after) AND height > 0
ORDER BY height DESC, bench, fn, commit;
