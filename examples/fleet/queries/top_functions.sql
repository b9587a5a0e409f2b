-- The most expensive functions of the last commit of main, over all benchmarks.
SELECT fn, cast(sum(cost) AS BIGINT) AS cost, count(*) AS benches
FROM functions WHERE commit = (SELECT commit FROM commits ORDER BY position DESC LIMIT 1)
GROUP BY fn ORDER BY cost DESC, fn LIMIT 20;
