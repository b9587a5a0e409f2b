-- The most expensive crates at the last commit of main. Join a table of crates and teams to get the costs per team.
SELECT crate, cast(sum(cost) AS BIGINT) AS cost
FROM crates WHERE commit = (SELECT commit FROM commits ORDER BY position DESC LIMIT 1)
GROUP BY crate ORDER BY cost DESC, crate LIMIT 20;
