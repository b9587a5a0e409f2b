-- The records of the columnar copy, for DuckDB. This replaces profiles.duckdb.sql.
CREATE OR REPLACE TEMPORARY VIEW records AS SELECT * FROM read_parquet('profiles.duckdb.parquet');
