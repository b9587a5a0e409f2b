-- Which crates cost most at the last commit of main. A table of crates and their teams, joined here, says which team.
SELECT crate, cast(sum(cost) AS BIGINT) AS cost
FROM crates WHERE commit = (SELECT commit FROM commits ORDER BY position DESC LIMIT 1)
GROUP BY crate ORDER BY cost DESC, crate LIMIT 20;
