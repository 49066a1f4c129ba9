-- SPDX-License-Identifier: Apache-2.0
-- Accelerator chips: their memory regions, sampled on the same tick as the processes.

CREATE TABLE device (
  id                    INTEGER PRIMARY KEY,
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  region                TEXT NOT NULL,
  layout_version        INTEGER,
  board_serial          INTEGER,
  asic_id               INTEGER,
  device_id             INTEGER,
  is_remote             INTEGER,
  first_seen_ns         INTEGER NOT NULL,
  UNIQUE (run_id, region)
) STRICT;

CREATE TABLE device_sample (
  device_id             INTEGER NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  dram_bytes            INTEGER,
  l1_bytes              INTEGER,
  l1_small_bytes        INTEGER,
  trace_bytes           INTEGER,
  cb_bytes              INTEGER,
  live_bytes            INTEGER,
  ghost_bytes           INTEGER,
  unknown_bytes         INTEGER,
  user_count            INTEGER,
  last_update_ns        INTEGER,
  unreadable_reason     TEXT,
  PRIMARY KEY (device_id, time_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_chip_sample (
  device_id             INTEGER NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  chip_id               INTEGER NOT NULL,
  time_ns               INTEGER NOT NULL,
  is_remote             INTEGER,
  dram_bytes            INTEGER,
  l1_bytes              INTEGER,
  l1_small_bytes        INTEGER,
  trace_bytes           INTEGER,
  cb_bytes              INTEGER,
  PRIMARY KEY (device_id, chip_id, time_ns)
) STRICT, WITHOUT ROWID;

-- device_id is device.id; no foreign key, which would want an index: a run's rows go with its processes.
CREATE TABLE device_process_sample (
  process_id            INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  device_id             INTEGER NOT NULL,
  dram_bytes            INTEGER,
  l1_bytes              INTEGER,
  l1_small_bytes        INTEGER,
  trace_bytes           INTEGER,
  cb_bytes              INTEGER,
  PRIMARY KEY (process_id, time_ns, device_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_user (
  device_id             INTEGER NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  pid                   INTEGER NOT NULL,
  name                  TEXT NOT NULL,
  state                 TEXT NOT NULL CHECK (state IN ('live', 'dead', 'unknown', 'left')),
  dram_bytes            INTEGER
) STRICT;

CREATE INDEX device_user_by_device ON device_user (device_id, time_ns);

CREATE TABLE device_total (
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  device_count          INTEGER,
  dram_bytes            INTEGER,
  dram_min_bytes        INTEGER,
  dram_max_bytes        INTEGER,
  live_bytes            INTEGER,
  ghost_bytes           INTEGER,
  PRIMARY KEY (run_id, time_ns)
) STRICT, WITHOUT ROWID;

DROP VIEW memory;

-- What memory_logger.py's users know: one row per process and sample, the devices' columns of the same tick included.
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
LEFT JOIN device_total AS total ON total.run_id = process.run_id AND total.time_ns = sample.time_ns;
