-- Commits at which a function's cost changed, with the cost before and after. If most costs are the same as at the commit before,
-- each difference is a step. Otherwise, a step is more than eight times the median difference, and at least twice the largest
-- difference that is none. A change of one count or of 1 % is none, because many builds differ by as much. The cost of a function
-- is 0 in profiles without it. cg-diff --history has the same rule, without the limit of 1 %.
WITH benches AS (
  SELECT DISTINCT bench, commit, position FROM runs JOIN commits USING (commit) CROSS JOIN chosen WHERE array_contains(events, event)
), grid AS (
  SELECT b.bench, b.commit, b.position, f.fn
  FROM benches b JOIN (SELECT DISTINCT bench, fn FROM functions) f ON f.bench = b.bench
), costs AS (
  SELECT g.bench, g.fn, g.commit, g.position, coalesce(f.cost, 0) AS cost
  FROM grid g LEFT JOIN functions f ON f.bench = g.bench AND f.fn = g.fn AND f.commit = g.commit
), pairs AS (
  SELECT bench, fn, commit, position, cost AS new_cost, lag(cost) OVER (PARTITION BY bench, fn ORDER BY position) AS old_cost
  FROM costs
), moves AS (
  SELECT *, abs(new_cost - old_cost) AS moved FROM pairs WHERE old_cost IS NOT NULL
), typical AS (
  SELECT bench, fn, count(*) AS differences, percentile_disc(0.5) WITHIN GROUP (ORDER BY moved) AS median
  FROM moves GROUP BY bench, fn
), noise AS (
  SELECT m.bench, m.fn, max(t.differences) AS differences, max(t.median) AS median,
         max(CASE WHEN m.moved <= 8 * t.median THEN m.moved ELSE 0 END) AS largest
  FROM moves m JOIN typical t ON t.bench = m.bench AND t.fn = m.fn GROUP BY m.bench, m.fn
)
SELECT m.bench, m.fn, m.commit, cast(m.old_cost AS BIGINT) AS old_cost, cast(m.new_cost AS BIGINT) AS new_cost,
       cast(m.new_cost - m.old_cost AS BIGINT) AS delta
FROM moves m JOIN noise n ON n.bench = m.bench AND n.fn = m.fn
WHERE m.moved > 1 + 0.01 * m.old_cost AND (n.median = 0 OR n.differences <= 2 OR (m.moved > 8 * n.median AND m.moved >= 2 * n.largest))
ORDER BY m.moved DESC, m.bench, m.fn, m.commit;
