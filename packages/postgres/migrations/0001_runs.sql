-- Runs: a head per run, the append-only log, stored snapshots, and the order of the feed.
-- @name is a table or function in the configured schema; {partitioned} becomes PARTITION BY HASH (run_id) when
-- configured.

-- The store's clock in milliseconds: the server's current time, not the start of the transaction.
CREATE FUNCTION @tidemark_now() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- The head of each run. Every append locks it until its commit, so its order is the order of the log.
CREATE TABLE @runs (
  tenant_id      text COLLATE "C" NOT NULL,
  run_id         text COLLATE "C" NOT NULL,
  project_id     text   NOT NULL,
  environment_id text   NOT NULL,
  plan_id        text   NOT NULL,
  plan_version   text   NOT NULL,
  status         text,
  last_seq       bigint NOT NULL,
  link           bytea  NOT NULL,
  -- The link before the last commit, to which the events of that commit are linked.
  link_before    bytea  NOT NULL,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  labels         jsonb  NOT NULL,
  parent_run_id  text,
  removed        jsonb,
  -- The feed position of the last event. Later events of the run must not come before it.
  feed_epoch     integer NOT NULL,
  feed_xid       xid8   NOT NULL,
  PRIMARY KEY (run_id, tenant_id)
) {partitioned} {fillfactor};

CREATE INDEX runs_by_creation ON @runs (created_at, tenant_id, run_id);
CREATE INDEX runs_by_status ON @runs (status, created_at);

CREATE SEQUENCE @run_events_position;

-- The epoch in which an event was stored. Transaction ids restart when a dump is restored elsewhere; a new epoch then
-- keeps cursors of the feed in order.
CREATE TABLE @feed_epochs (
  epoch      integer PRIMARY KEY,
  started_at bigint NOT NULL
);
INSERT INTO @feed_epochs (epoch, started_at) VALUES (1, @tidemark_now());

-- The log. Payloads are json, not jsonb, so that they are returned byte for byte.
CREATE TABLE @run_events (
  tenant_id          text COLLATE "C" NOT NULL,
  run_id             text COLLATE "C" NOT NULL,
  run_seq            bigint  NOT NULL,
  event_id           text    NOT NULL,
  event_type         text    NOT NULL,
  emitted_at         text    NOT NULL,
  persisted_at       bigint  NOT NULL,
  project_id         text    NOT NULL,
  environment_id     text    NOT NULL,
  plan_id            text    NOT NULL,
  plan_version       text    NOT NULL,
  engine_attempt_id  bigint  NOT NULL,
  logical_attempt_id bigint  NOT NULL,
  idempotency_key    text COLLATE "C" NOT NULL,
  step_id            text,
  extra              json,
  payload            json,
  commit_index       integer NOT NULL,
  link               bytea   NOT NULL,
  epoch              integer NOT NULL,
  -- The transaction that stored it, or that of the run's previous event if that is younger.
  xid                xid8    NOT NULL,
  position           bigint  NOT NULL DEFAULT nextval('@run_events_position'),
  PRIMARY KEY (run_id, tenant_id, run_seq),
  UNIQUE (run_id, tenant_id, idempotency_key)
) {partitioned};

CREATE INDEX run_events_in_feed ON @run_events (epoch, xid, position);

-- Events are never changed. They are deleted only with their whole run, after the store has marked it as removed.
CREATE FUNCTION @refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (
    SELECT 1 FROM @runs r WHERE r.run_id = OLD.run_id AND r.tenant_id = OLD.tenant_id AND r.removed IS NOT NULL
  ) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'run_events is append-only: events are never changed, and only whole runs are removed, with deleteRun';
END $$;

CREATE TRIGGER run_events_never_change BEFORE UPDATE OR DELETE ON @run_events
FOR EACH ROW EXECUTE FUNCTION @refuse_event_change();

CREATE TRIGGER run_events_never_truncated BEFORE TRUNCATE ON @run_events
FOR EACH STATEMENT EXECUTE FUNCTION @refuse_event_change();

CREATE TABLE @run_snapshots (
  tenant_id      text COLLATE "C" NOT NULL,
  run_id         text COLLATE "C" NOT NULL,
  status         text   NOT NULL,
  last_event_seq bigint NOT NULL,
  snapshot_data  json   NOT NULL,
  projected_at   bigint NOT NULL,
  PRIMARY KEY (run_id, tenant_id)
) {partitioned};
