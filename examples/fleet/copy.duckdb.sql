-- All records in one columnar file, which is read some twenty times as fast as the profiles.
COPY (SELECT * FROM records) TO 'profiles.duckdb.parquet' (FORMAT parquet);
