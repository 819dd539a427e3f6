-- Agents: the data that an agent framework persists (document 000). Large bodies are last in their rows, so that lists
-- without them do not read them.

-- Runtime events of flows. `trace_id` is '' for events without a trace, because ids are never empty. `identity` is the
-- caller's event id or the fingerprint of all fields.
CREATE TABLE flow_events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id  TEXT    NOT NULL,
  trace_id   TEXT    NOT NULL,
  identity   TEXT    NOT NULL,
  ts         REAL    NOT NULL,
  kind       TEXT    NOT NULL,
  node_name  TEXT,
  node_id    TEXT,
  event_id   TEXT,
  created_at INTEGER NOT NULL,
  payload    TEXT    NOT NULL,
  UNIQUE (tenant_id, trace_id, identity)
) STRICT;

CREATE INDEX flow_events_in_order ON flow_events (tenant_id, trace_id, ts, id);

-- Remote workers that serve a trace. `context_id` is '' for bindings without a context.
CREATE TABLE remote_bindings (
  tenant_id  TEXT    NOT NULL,
  trace_id   TEXT    NOT NULL,
  context_id TEXT    NOT NULL,
  task_id    TEXT    NOT NULL,
  agent_url  TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, context_id, task_id)
) STRICT, WITHOUT ROWID;

-- Paused plans by the SHA-256 of their token. Consumed pauses stay until they expire, so that no token is used twice.
CREATE TABLE planner_pauses (
  tenant_id   TEXT    NOT NULL,
  pause_id    TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('waiting', 'claimed', 'consumed')),
  claim_id    TEXT,
  lease_until INTEGER,
  session_id  TEXT,
  task_id     TEXT,
  reason      TEXT,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  payload     TEXT,
  PRIMARY KEY (tenant_id, pause_id)
) STRICT;

CREATE INDEX planner_pauses_by_session ON planner_pauses (tenant_id, session_id, pause_id) WHERE session_id IS NOT NULL;
CREATE INDEX planner_pauses_by_expiry ON planner_pauses (expires_at);

-- Short-term memory. `requests` holds the last request ids with the versions they returned, as JSON pairs.
CREATE TABLE memory_states (
  tenant_id  TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  requests   TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT;

-- Sessions, created by their first task, update, steering event or trajectory. `last_number` orders their contents.
CREATE TABLE sessions (
  tenant_id      TEXT    NOT NULL,
  session_id     TEXT    NOT NULL,
  created_at     INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL,
  last_number    INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, session_id)
) STRICT, WITHOUT ROWID;

-- Tasks of a session. `number` is that of the first save and orders tasks with equal `created_at`.
CREATE TABLE tasks (
  tenant_id  TEXT    NOT NULL,
  session_id TEXT    NOT NULL,
  task_id    TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  status     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  body       TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, session_id, task_id)
) STRICT;

CREATE INDEX tasks_in_order ON tasks (tenant_id, session_id, created_at, number);

-- Streaming updates of a session in order of arrival.
CREATE TABLE updates (
  tenant_id  TEXT    NOT NULL,
  session_id TEXT    NOT NULL,
  seq        INTEGER NOT NULL,
  update_id  TEXT    NOT NULL,
  task_id    TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  body       TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, session_id, seq),
  UNIQUE (tenant_id, session_id, update_id)
) STRICT;

-- Steering events of a session in order of arrival.
CREATE TABLE steering (
  tenant_id  TEXT    NOT NULL,
  session_id TEXT    NOT NULL,
  seq        INTEGER NOT NULL,
  event_id   TEXT    NOT NULL,
  task_id    TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  body       TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, session_id, seq),
  UNIQUE (tenant_id, session_id, event_id)
) STRICT;

-- Planner trajectories. A trace belongs to one session, and `recency` grows with every save in it.
CREATE TABLE trajectories (
  tenant_id  TEXT    NOT NULL,
  trace_id   TEXT    NOT NULL,
  session_id TEXT    NOT NULL,
  recency    INTEGER NOT NULL,
  saved_at   INTEGER NOT NULL,
  body       TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, trace_id)
) STRICT;

CREATE INDEX trajectories_by_recency ON trajectories (tenant_id, session_id, recency);

-- Planner events of a trace in order of arrival. `identity` as in flow_events.
CREATE TABLE planner_events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id  TEXT    NOT NULL,
  trace_id   TEXT    NOT NULL,
  identity   TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  body       TEXT    NOT NULL,
  UNIQUE (tenant_id, trace_id, identity)
) STRICT;

CREATE INDEX planner_events_in_order ON planner_events (tenant_id, trace_id, id);
