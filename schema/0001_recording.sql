-- SPDX-License-Identifier: Apache-2.0
-- What one recording stores. Meanings and units of every column: schema/README.md.
-- Times (`*_ns`) are wall-clock nanoseconds since 1970 UTC laid on the run's own boot clock; NULL is "unknown".

CREATE TABLE run (
  id                    INTEGER PRIMARY KEY AUTOINCREMENT,
  label                 TEXT,
  host                  TEXT NOT NULL,
  boot_id               TEXT NOT NULL,
  kernel                TEXT NOT NULL,
  command               TEXT NOT NULL,
  target                TEXT NOT NULL,
  interval_ns           INTEGER NOT NULL,
  started_ns            INTEGER NOT NULL,
  ended_ns              INTEGER,
  state                 TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'ended', 'interrupted')),
  end_reason            TEXT,
  event_source          TEXT NOT NULL,
  incomplete            INTEGER NOT NULL DEFAULT 0,
  uid                   INTEGER NOT NULL,
  page_size_bytes       INTEGER NOT NULL,
  cpu_count             INTEGER NOT NULL,
  memlog_version        TEXT NOT NULL,
  recorder_pid          INTEGER NOT NULL,
  recorder_start_ticks  INTEGER NOT NULL,
  recorder_pid_ns       INTEGER NOT NULL,
  peak_rss_bytes        INTEGER
) STRICT;

CREATE INDEX run_by_label ON run (label) WHERE label IS NOT NULL;

CREATE TABLE process (
  id                    INTEGER PRIMARY KEY,
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  pid                   INTEGER NOT NULL,
  start_time_ns         INTEGER,
  start_ticks           INTEGER,
  parent_pid            INTEGER,
  parent_process_id     INTEGER REFERENCES process (id),
  comm                  TEXT NOT NULL,
  name                  TEXT NOT NULL,
  exe                   TEXT,
  cmdline               TEXT,
  cgroup                TEXT,
  uid                   INTEGER,
  namespace_pid         INTEGER,
  first_seen_ns         INTEGER NOT NULL,
  first_seen_by         TEXT NOT NULL CHECK (first_seen_by IN ('exec', 'fork', 'rename', 'exit', 'scan', 'import')),
  ended_ns              INTEGER,
  exit_status           INTEGER,
  exit_signal           INTEGER,
  core_dumped           INTEGER,
  end_reason            TEXT NOT NULL DEFAULT 'running'
                        CHECK (end_reason IN ('running', 'exited', 'signaled', 'oom_killed', 'unseen')),
  peak_rss_bytes        INTEGER,
  peak_source           TEXT CHECK (peak_source IN ('kernel', 'sampled')),
  sample_count          INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX process_by_run ON process (run_id, pid);

CREATE TABLE process_name (
  process_id            INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  comm                  TEXT NOT NULL
) STRICT;

CREATE INDEX process_name_by_process ON process_name (process_id, time_ns);

CREATE TABLE process_sample (
  process_id            INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  rss_bytes             INTEGER,
  anon_bytes            INTEGER,
  file_bytes            INTEGER,
  shmem_bytes           INTEGER,
  swap_bytes            INTEGER,
  hugetlb_bytes         INTEGER,
  hwm_bytes             INTEGER,
  data_bytes            INTEGER,
  page_table_bytes      INTEGER,
  pss_bytes             INTEGER,
  oom_score             INTEGER,
  oom_score_adj         INTEGER,
  minor_faults          INTEGER,
  major_faults          INTEGER,
  threads               INTEGER,
  cpu_ns                INTEGER,
  PRIMARY KEY (process_id, time_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE host_sample (
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  mem_total_bytes       INTEGER,
  mem_available_bytes   INTEGER,
  mem_free_bytes        INTEGER,
  swap_total_bytes      INTEGER,
  swap_free_bytes       INTEGER,
  hugepage_total_bytes  INTEGER,
  hugepage_free_bytes   INTEGER,
  psi_some_ns           INTEGER,
  psi_full_ns           INTEGER,
  oom_kill_count        INTEGER,
  PRIMARY KEY (run_id, time_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE cgroup (
  id                    INTEGER PRIMARY KEY,
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  path                  TEXT NOT NULL,
  version               INTEGER NOT NULL CHECK (version IN (1, 2)),
  UNIQUE (run_id, path)
) STRICT;

CREATE TABLE cgroup_sample (
  cgroup_id             INTEGER NOT NULL REFERENCES cgroup (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  current_bytes         INTEGER,
  peak_bytes            INTEGER,
  limit_bytes           INTEGER,
  oom_kill_count        INTEGER,
  PRIMARY KEY (cgroup_id, time_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  id                    INTEGER PRIMARY KEY,
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  kind                  TEXT NOT NULL CHECK (kind IN ('attach', 'detach', 'exec', 'fork', 'rename', 'exit', 'oom_kill',
                                                      'clock_step', 'mark', 'note')),
  process_id            INTEGER REFERENCES process (id) ON DELETE CASCADE,
  detail                TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(detail))
) STRICT;

CREATE INDEX event_by_run ON event (run_id, time_ns);
CREATE INDEX event_by_process ON event (process_id) WHERE process_id IS NOT NULL;

CREATE TABLE oom_kill (
  id                    INTEGER PRIMARY KEY,
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  time_ns               INTEGER NOT NULL,
  process_id            INTEGER REFERENCES process (id) ON DELETE CASCADE,
  pid                   INTEGER NOT NULL,
  tid                   INTEGER,
  comm                  TEXT,
  cmdline               TEXT,
  uid                   INTEGER,
  total_vm_bytes        INTEGER,
  anon_bytes            INTEGER,
  file_bytes            INTEGER,
  shmem_bytes           INTEGER,
  swap_bytes            INTEGER,
  page_table_bytes      INTEGER,
  oom_score_adj         INTEGER,
  trigger_pid           INTEGER,
  trigger_comm          TEXT,
  constraint_kind       TEXT CHECK (constraint_kind IN ('global', 'memcg', 'cpuset', 'mempolicy')),
  cgroup                TEXT,
  limit_cgroup          TEXT,
  limit_bytes           INTEGER,
  usage_bytes           INTEGER,
  evidence              TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(evidence))
) STRICT;

CREATE INDEX oom_kill_by_run ON oom_kill (run_id, time_ns);

CREATE TABLE gap (
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  started_ns            INTEGER NOT NULL,
  ended_ns              INTEGER NOT NULL,
  kind                  TEXT NOT NULL CHECK (kind IN ('late_tick', 'missed_ticks', 'event_loss', 'queue_overflow',
                                                      'storage', 'suspend', 'unreadable')),
  process_id            INTEGER REFERENCES process (id) ON DELETE CASCADE,
  lost_count            INTEGER,
  detail                TEXT
) STRICT;

CREATE INDEX gap_by_run ON gap (run_id, started_ns);

CREATE TABLE clock (
  run_id                INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  boot_ns               INTEGER NOT NULL,
  wall_ns               INTEGER NOT NULL,
  PRIMARY KEY (run_id, boot_ns)
) STRICT, WITHOUT ROWID;

-- What memory_logger.py's users know: one row per process and sample.
CREATE VIEW memory AS
SELECT
  process.run_id AS run,
  strftime('%Y-%m-%dT%H:%M:%S', sample.time_ns / 1000000000, 'unixepoch')
    || printf('.%06d+00:00', sample.time_ns % 1000000000 / 1000) AS time_utc,
  process.pid AS pid,
  process.name AS process_name,
  round(sample.rss_bytes / 1048576.0, 3) AS rss_mib,
  round(sample.swap_bytes / 1048576.0, 3) AS swap_mib,
  sample.oom_score AS oom_score
FROM process_sample AS sample
JOIN process ON process.id = sample.process_id;
