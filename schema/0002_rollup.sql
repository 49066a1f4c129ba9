-- SPDX-License-Identifier: Apache-2.0
-- Roll-ups: what a picture reads instead of millions of samples. How they are kept true: schema/README.md.
-- A row stands for 16 * 4^(level - 1) consecutive samples of its process, run or cgroup.

CREATE TABLE process_rollup (
  process_id                INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
  level                     INTEGER NOT NULL,
  begin_ns                  INTEGER NOT NULL,
  span_ns                   INTEGER NOT NULL,
  longest_step_ns           INTEGER NOT NULL,
  rss_bytes_min             INTEGER,
  rss_bytes_range           INTEGER,
  rss_bytes_mean            INTEGER,
  rss_bytes_last            INTEGER,
  anon_bytes_min            INTEGER,
  anon_bytes_range          INTEGER,
  anon_bytes_mean           INTEGER,
  anon_bytes_last           INTEGER,
  file_bytes_min            INTEGER,
  file_bytes_range          INTEGER,
  file_bytes_mean           INTEGER,
  file_bytes_last           INTEGER,
  shmem_bytes_min           INTEGER,
  shmem_bytes_range         INTEGER,
  shmem_bytes_mean          INTEGER,
  shmem_bytes_last          INTEGER,
  swap_bytes_min            INTEGER,
  swap_bytes_range          INTEGER,
  swap_bytes_mean           INTEGER,
  swap_bytes_last           INTEGER,
  hugetlb_bytes_min         INTEGER,
  hugetlb_bytes_range       INTEGER,
  hugetlb_bytes_mean        INTEGER,
  hugetlb_bytes_last        INTEGER,
  oom_score_min             INTEGER,
  oom_score_range           INTEGER,
  oom_score_mean            INTEGER,
  oom_score_last            INTEGER,
  PRIMARY KEY (process_id, level, begin_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE host_rollup (
  run_id                    INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  level                     INTEGER NOT NULL,
  begin_ns                  INTEGER NOT NULL,
  span_ns                   INTEGER NOT NULL,
  longest_step_ns           INTEGER NOT NULL,
  mem_available_bytes_min   INTEGER,
  mem_available_bytes_range INTEGER,
  mem_available_bytes_mean  INTEGER,
  mem_available_bytes_last  INTEGER,
  swap_free_bytes_min       INTEGER,
  swap_free_bytes_range     INTEGER,
  swap_free_bytes_mean      INTEGER,
  swap_free_bytes_last      INTEGER,
  PRIMARY KEY (run_id, level, begin_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE cgroup_rollup (
  cgroup_id                 INTEGER NOT NULL REFERENCES cgroup (id) ON DELETE CASCADE,
  level                     INTEGER NOT NULL,
  begin_ns                  INTEGER NOT NULL,
  span_ns                   INTEGER NOT NULL,
  longest_step_ns           INTEGER NOT NULL,
  current_bytes_min         INTEGER,
  current_bytes_range       INTEGER,
  current_bytes_mean        INTEGER,
  current_bytes_last        INTEGER,
  limit_bytes_min           INTEGER,
  limit_bytes_range         INTEGER,
  limit_bytes_mean          INTEGER,
  limit_bytes_last          INTEGER,
  PRIMARY KEY (cgroup_id, level, begin_ns)
) STRICT, WITHOUT ROWID;

-- The few events that people write or must know, found without reading the many.
CREATE INDEX event_note ON event (run_id, time_ns) WHERE kind IN ('mark', 'note', 'clock_step');
