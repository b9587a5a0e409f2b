-- The records of the columnar copy, for Spark. This replaces profiles.spark.sql.
CREATE OR REPLACE TEMPORARY VIEW records USING parquet OPTIONS (path 'profiles.spark.parquet');
