-- Agents: the data that an agent framework persists (document 000). Large bodies are last in their rows, so that lists
-- without them do not read them.

-- Runtime events of flows. `trace_id` is '' for events without a trace, because ids are never empty. `identity` is the
-- caller's event id or the fingerprint of all fields.
CREATE TABLE @flow_events (
  id         bigint GENERATED ALWAYS AS IDENTITY,
  tenant_id  text COLLATE "C" NOT NULL,
  trace_id   text COLLATE "C" NOT NULL,
  identity   text COLLATE "C" NOT NULL,
  ts         double precision NOT NULL,
  kind       text   NOT NULL,
  node_name  text,
  node_id    text,
  event_id   text COLLATE "C",
  created_at bigint NOT NULL,
  payload    json   NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, trace_id, identity)
);

CREATE INDEX flow_events_in_order ON @flow_events (tenant_id, trace_id, ts, id);

-- Remote workers that serve a trace. `context_id` is '' for bindings without a context.
CREATE TABLE @remote_bindings (
  tenant_id  text COLLATE "C" NOT NULL,
  trace_id   text COLLATE "C" NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  task_id    text COLLATE "C" NOT NULL,
  agent_url  text   NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, context_id, task_id)
);

-- Paused plans by the SHA-256 of their token. Consumed pauses stay until they expire, so that no token is used twice.
CREATE TABLE @planner_pauses (
  tenant_id   text COLLATE "C" NOT NULL,
  pause_id    text COLLATE "C" NOT NULL,
  state       text   NOT NULL CHECK (state IN ('waiting', 'claimed', 'consumed')),
  claim_id    text COLLATE "C",
  lease_until bigint,
  session_id  text COLLATE "C",
  task_id     text COLLATE "C",
  reason      text,
  created_at  bigint NOT NULL,
  expires_at  bigint NOT NULL,
  payload     json,
  PRIMARY KEY (tenant_id, pause_id)
);

CREATE INDEX planner_pauses_by_session ON @planner_pauses (tenant_id, session_id, pause_id) WHERE session_id IS NOT NULL;
CREATE INDEX planner_pauses_by_expiry ON @planner_pauses (expires_at);

-- Short-term memory. `requests` holds the last request ids with the versions they returned, as JSON pairs.
CREATE TABLE @memory_states (
  tenant_id  text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  updated_at bigint NOT NULL,
  requests   text   NOT NULL,
  state      json   NOT NULL,
  PRIMARY KEY (tenant_id, key)
);

-- Sessions, created by their first task, update, steering event or trajectory. `last_number` orders their contents.
CREATE TABLE @sessions (
  tenant_id      text COLLATE "C" NOT NULL,
  session_id     text COLLATE "C" NOT NULL,
  created_at     bigint NOT NULL,
  last_active_at bigint NOT NULL,
  last_number    bigint NOT NULL,
  PRIMARY KEY (tenant_id, session_id)
);

-- Tasks of a session. `number` is that of the first save and orders tasks with equal `created_at`.
CREATE TABLE @tasks (
  tenant_id  text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  task_id    text COLLATE "C" NOT NULL,
  number     bigint NOT NULL,
  status     text   NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  body       json   NOT NULL,
  PRIMARY KEY (tenant_id, session_id, task_id)
);

CREATE INDEX tasks_in_order ON @tasks (tenant_id, session_id, created_at, number);

-- Streaming updates of a session in order of arrival.
CREATE TABLE @updates (
  tenant_id  text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  seq        bigint NOT NULL,
  update_id  text COLLATE "C" NOT NULL,
  task_id    text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  body       json   NOT NULL,
  PRIMARY KEY (tenant_id, session_id, seq),
  UNIQUE (tenant_id, session_id, update_id)
);

-- Steering events of a session in order of arrival.
CREATE TABLE @steering (
  tenant_id  text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  seq        bigint NOT NULL,
  event_id   text COLLATE "C" NOT NULL,
  task_id    text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  body       json   NOT NULL,
  PRIMARY KEY (tenant_id, session_id, seq),
  UNIQUE (tenant_id, session_id, event_id)
);

-- Planner trajectories. A trace belongs to one session, and `recency` grows with every save in it.
CREATE TABLE @trajectories (
  tenant_id  text COLLATE "C" NOT NULL,
  trace_id   text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  recency    bigint NOT NULL,
  saved_at   bigint NOT NULL,
  body       json   NOT NULL,
  PRIMARY KEY (tenant_id, trace_id)
);

CREATE INDEX trajectories_by_recency ON @trajectories (tenant_id, session_id, recency);

-- Planner events of a trace in order of arrival. `identity` as in flow_events.
CREATE TABLE @planner_events (
  id         bigint GENERATED ALWAYS AS IDENTITY,
  tenant_id  text COLLATE "C" NOT NULL,
  trace_id   text COLLATE "C" NOT NULL,
  identity   text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  body       json   NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, trace_id, identity)
);

CREATE INDEX planner_events_in_order ON @planner_events (tenant_id, trace_id, id);
