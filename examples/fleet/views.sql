-- One view for each kind of records in a history, for DuckDB and Spark.

-- The event of the costs: Ir for callgrind, cycles or samples for perf, bytes for heaps.
CREATE OR REPLACE TEMPORARY VIEW chosen AS SELECT 'Ir' AS event;

CREATE OR REPLACE TEMPORARY VIEW runs AS
SELECT commit, bench, labels['branch'] AS branch, labels['time'] AS taken, tool, creator, command, events, total
FROM records WHERE type = 'run';

-- The commits of the main branch in their order.
CREATE OR REPLACE TEMPORARY VIEW commits AS
SELECT commit, min(taken) AS taken, row_number() OVER (ORDER BY min(taken), commit) AS position
FROM runs WHERE branch = 'main' GROUP BY commit;

-- One row per function of a profile. incl overlaps, so it must not be summed over functions.
CREATE OR REPLACE TEMPORARY VIEW functions AS
SELECT commit, bench, fn, event, sum(coalesce(cost[event], 0)) AS cost, sum(coalesce(incl[event], 0)) AS incl, sum(calls) AS calls
FROM records CROSS JOIN chosen WHERE type = 'fn' AND fn IS NOT NULL GROUP BY commit, bench, fn, event;

-- The crate or the outermost namespace of each function, or the object if the name has none.
CREATE OR REPLACE TEMPORARY VIEW crates AS
SELECT commit, bench, crate, event, sum(cost) AS cost
FROM (
  SELECT commit, bench, event, coalesce(cost[event], 0) AS cost,
         coalesce(nullif(regexp_extract(fn, '([A-Za-z_][A-Za-z0-9_]*)::', 1), ''), obj, '???') AS crate
  FROM records CROSS JOIN chosen WHERE type = 'fn'
) costs GROUP BY commit, bench, crate, event;

CREATE OR REPLACE TEMPORARY VIEW lines AS
SELECT commit, bench, fn, file, obj, line, event, coalesce(cost[event], 0) AS cost
FROM records CROSS JOIN chosen WHERE type = 'line';

CREATE OR REPLACE TEMPORARY VIEW calls AS
SELECT commit, bench, fn, callee.fn AS callee, event, calls, coalesce(incl[event], 0) AS incl
FROM records CROSS JOIN chosen WHERE type = 'call';

-- Memory errors and leaks; frames are the functions of the stack, innermost first.
CREATE OR REPLACE TEMPORARY VIEW findings AS
SELECT commit, bench, type, kind, fn, file, what, coalesce(cost['bytes'], 0) AS bytes,
       coalesce(cost['blocks'], 0) AS blocks, coalesce(cost['count'], 0) AS errors, to_json(stack) AS frames
FROM records WHERE type IN ('leak', 'error');

-- Sampled stacks.
CREATE OR REPLACE TEMPORARY VIEW stacks AS
SELECT commit, bench, fn, event, coalesce(cost[event], 0) AS cost, to_json(stack) AS frames
FROM records CROSS JOIN chosen WHERE type = 'stack';

-- Heap allocations from Massif, DHAT and heaptrack.
CREATE OR REPLACE TEMPORARY VIEW heap AS
SELECT commit, bench, type, snapshot, fn, file,
       coalesce(cost['bytes'], cost['gmax_bytes'], cost['peak_bytes'], 0) AS bytes, to_json(stack) AS frames
FROM records WHERE type IN ('heap', 'program_point');
