-- Leaks at the last commit of main that the release (here the tenth commit) did not have. A leak is identified by its kind and
-- the functions of its stack.
WITH ends AS (
  SELECT min(CASE WHEN position = 10 THEN commit END) AS release,
         min(CASE WHEN position = newest THEN commit END) AS newest
  FROM (SELECT commit, position, max(position) OVER () AS newest FROM commits) c
), now AS (
  SELECT f.* FROM findings f JOIN ends e ON f.commit = e.newest WHERE f.type = 'leak'
), released AS (
  SELECT DISTINCT f.bench, f.kind, f.frames FROM findings f JOIN ends e ON f.commit = e.release WHERE f.type = 'leak'
)
SELECT n.bench, n.kind, n.fn, n.file, cast(sum(n.bytes) AS BIGINT) AS bytes, cast(sum(n.blocks) AS BIGINT) AS blocks
FROM now n LEFT JOIN released r ON r.bench = n.bench AND r.kind = n.kind AND r.frames = n.frames
WHERE r.frames IS NULL GROUP BY n.bench, n.kind, n.fn, n.file ORDER BY bytes DESC, n.bench, n.fn;
