-- SPDX-License-Identifier: Apache-2.0
-- What a picture of devices reads, where a stale region lies, and imports that are under way.

CREATE TABLE device_rollup (
  device_id                 INTEGER NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  level                     INTEGER NOT NULL,
  begin_ns                  INTEGER NOT NULL,
  span_ns                   INTEGER NOT NULL,
  longest_step_ns           INTEGER NOT NULL,
  dram_bytes_min            INTEGER,
  dram_bytes_range          INTEGER,
  dram_bytes_mean           INTEGER,
  dram_bytes_last           INTEGER,
  live_bytes_min            INTEGER,
  live_bytes_range          INTEGER,
  live_bytes_mean           INTEGER,
  live_bytes_last           INTEGER,
  ghost_bytes_min           INTEGER,
  ghost_bytes_range         INTEGER,
  ghost_bytes_mean          INTEGER,
  ghost_bytes_last          INTEGER,
  PRIMARY KEY (device_id, level, begin_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_total_rollup (
  run_id                    INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  level                     INTEGER NOT NULL,
  begin_ns                  INTEGER NOT NULL,
  span_ns                   INTEGER NOT NULL,
  longest_step_ns           INTEGER NOT NULL,
  device_count_min          INTEGER,
  device_count_range        INTEGER,
  device_count_mean         INTEGER,
  device_count_last         INTEGER,
  dram_bytes_min            INTEGER,
  dram_bytes_range          INTEGER,
  dram_bytes_mean           INTEGER,
  dram_bytes_last           INTEGER,
  dram_min_bytes_min        INTEGER,
  dram_min_bytes_range      INTEGER,
  dram_min_bytes_mean       INTEGER,
  dram_min_bytes_last       INTEGER,
  dram_max_bytes_min        INTEGER,
  dram_max_bytes_range      INTEGER,
  dram_max_bytes_mean       INTEGER,
  dram_max_bytes_last       INTEGER,
  live_bytes_min            INTEGER,
  live_bytes_range          INTEGER,
  live_bytes_mean           INTEGER,
  live_bytes_last           INTEGER,
  ghost_bytes_min           INTEGER,
  ghost_bytes_range         INTEGER,
  ghost_bytes_mean          INTEGER,
  ghost_bytes_last          INTEGER,
  PRIMARY KEY (run_id, level, begin_ns)
) STRICT, WITHOUT ROWID;

ALTER TABLE device ADD COLUMN directory TEXT;

ALTER TABLE process ADD COLUMN peak_device_bytes INTEGER;

CREATE TABLE unfinished_import (
  run_id                INTEGER PRIMARY KEY,
  boot_id               TEXT NOT NULL,
  importer_pid          INTEGER NOT NULL,
  importer_start_ticks  INTEGER NOT NULL,
  importer_pid_ns       INTEGER NOT NULL
) STRICT;

DROP VIEW memory;

-- What memory_logger.py's users know: one row per process and sample, the devices' columns of the same tick included.
-- A run that is still being imported has no row in run, and so none here.
CREATE VIEW memory AS
SELECT
  process.run_id AS run,
  strftime('%Y-%m-%dT%H:%M:%S', sample.time_ns / 1000000000, 'unixepoch')
    || printf('.%06d+00:00', sample.time_ns % 1000000000 / 1000) AS time_utc,
  process.pid AS pid,
  process.name AS process_name,
  round(sample.rss_bytes / 1048576.0, 3) AS rss_mib,
  round(sample.swap_bytes / 1048576.0, 3) AS swap_mib,
  sample.oom_score AS oom_score,
  total.device_count AS dram_chip_count,
  round(total.dram_bytes / 1048576.0, 3) AS dram_total_mib,
  round(total.dram_bytes * 1.0 / total.device_count / 1048576.0, 3) AS dram_avg_mib,
  round(total.dram_min_bytes / 1048576.0, 3) AS dram_min_mib,
  round(total.dram_max_bytes / 1048576.0, 3) AS dram_max_mib,
  (SELECT round(sum(held.dram_bytes) / 1048576.0, 3)
   FROM device_process_sample AS held
   WHERE held.process_id = sample.process_id AND held.time_ns = sample.time_ns) AS device_dram_mib
FROM process_sample AS sample
JOIN process ON process.id = sample.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN device_total AS total ON total.run_id = process.run_id AND total.time_ns = sample.time_ns;
