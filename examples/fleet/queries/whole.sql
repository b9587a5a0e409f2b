-- Incomplete profiles, whose functions do not sum to the total or whose end is missing. The expected result is empty.
SELECT r.commit, r.bench, coalesce(r.total[event], 0) AS total, coalesce(f.cost, 0) AS found
FROM runs r CROSS JOIN chosen c
LEFT JOIN (SELECT commit, bench, event, sum(cost) AS cost FROM functions GROUP BY commit, bench, event) f
  USING (commit, bench, event)
WHERE array_contains(r.events, event) AND coalesce(r.total[event], 0) <> coalesce(f.cost, 0)
UNION ALL
SELECT commit, bench, count(*) AS total, sum(CASE WHEN type = 'end' THEN 1 ELSE 0 END) AS found
FROM records WHERE type IN ('run', 'end') GROUP BY commit, bench
HAVING sum(CASE WHEN type = 'end' THEN 1 ELSE 0 END) <> sum(CASE WHEN type = 'run' THEN 1 ELSE 0 END)
ORDER BY commit, bench;
