-- Runs: a head per run, the append-only log, stored snapshots.

CREATE TABLE runs (
  tenant_id      TEXT    NOT NULL,
  run_id         TEXT    NOT NULL,
  project_id     TEXT    NOT NULL,
  environment_id TEXT    NOT NULL,
  plan_id        TEXT    NOT NULL,
  plan_version   TEXT    NOT NULL,
  status         TEXT,
  last_seq       INTEGER NOT NULL,
  link           BLOB    NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  labels         TEXT    NOT NULL,
  parent_run_id  TEXT,
  removed        TEXT,
  PRIMARY KEY (run_id, tenant_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_creation ON runs (created_at, tenant_id, run_id);
CREATE INDEX runs_by_status ON runs (status, created_at);

CREATE TABLE run_events (
  position           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id          TEXT    NOT NULL,
  run_id             TEXT    NOT NULL,
  run_seq            INTEGER NOT NULL,
  event_id           TEXT    NOT NULL,
  event_type         TEXT    NOT NULL,
  emitted_at         TEXT    NOT NULL,
  persisted_at       INTEGER NOT NULL,
  project_id         TEXT    NOT NULL,
  environment_id     TEXT    NOT NULL,
  plan_id            TEXT    NOT NULL,
  plan_version       TEXT    NOT NULL,
  engine_attempt_id  INTEGER NOT NULL,
  logical_attempt_id INTEGER NOT NULL,
  idempotency_key    TEXT    NOT NULL,
  step_id            TEXT,
  extra              TEXT,
  payload            TEXT,
  commit_index       INTEGER NOT NULL,
  link               BLOB    NOT NULL,
  UNIQUE (run_id, tenant_id, run_seq),
  UNIQUE (run_id, tenant_id, idempotency_key)
) STRICT;

CREATE TRIGGER run_events_never_change BEFORE UPDATE ON run_events
BEGIN
  SELECT RAISE(ABORT, 'run_events is append-only: events are never changed');
END;

-- Only whole runs are deleted, and only after the store has marked the run as removed.
CREATE TRIGGER run_events_go_with_their_run BEFORE DELETE ON run_events
WHEN NOT EXISTS (
  SELECT 1 FROM runs WHERE run_id = OLD.run_id AND tenant_id = OLD.tenant_id AND removed IS NOT NULL
)
BEGIN
  SELECT RAISE(ABORT, 'run_events is append-only: use deleteRun to remove a whole run');
END;

CREATE TABLE run_snapshots (
  tenant_id      TEXT    NOT NULL,
  run_id         TEXT    NOT NULL,
  status         TEXT    NOT NULL,
  last_event_seq INTEGER NOT NULL,
  snapshot_data  TEXT    NOT NULL,
  projected_at   INTEGER NOT NULL,
  PRIMARY KEY (run_id, tenant_id)
) STRICT;
