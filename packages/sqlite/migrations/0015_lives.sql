-- oldest reader: 6
-- Lives of runs: a deleted id can begin again. The head has the number of the current life; an event has it from the
-- second life on. Only a store with chain format 2 begins them, which libraries of version 0.1 refuse.
ALTER TABLE runs ADD COLUMN life INTEGER NOT NULL DEFAULT 1;
ALTER TABLE run_events ADD COLUMN life INTEGER;

DROP TRIGGER run_events_never_change;

-- Allows exactly one change, once: the payload is removed and the redaction is set. All other columns stay.
CREATE TRIGGER run_events_never_change BEFORE UPDATE ON run_events
WHEN NOT (
  OLD.redaction IS NULL AND NEW.redaction IS NOT NULL AND NEW.payload IS NULL
  AND NEW.position IS OLD.position
  AND NEW.tenant_id IS OLD.tenant_id
  AND NEW.run_id IS OLD.run_id
  AND NEW.run_seq IS OLD.run_seq
  AND NEW.event_id IS OLD.event_id
  AND NEW.event_type IS OLD.event_type
  AND NEW.emitted_at IS OLD.emitted_at
  AND NEW.persisted_at IS OLD.persisted_at
  AND NEW.project_id IS OLD.project_id
  AND NEW.environment_id IS OLD.environment_id
  AND NEW.plan_id IS OLD.plan_id
  AND NEW.plan_version IS OLD.plan_version
  AND NEW.engine_attempt_id IS OLD.engine_attempt_id
  AND NEW.logical_attempt_id IS OLD.logical_attempt_id
  AND NEW.idempotency_key IS OLD.idempotency_key
  AND NEW.step_id IS OLD.step_id
  AND NEW.extra IS OLD.extra
  AND NEW.commit_index IS OLD.commit_index
  AND NEW.link IS OLD.link
  AND NEW.chain_format IS OLD.chain_format
  AND NEW.life IS OLD.life
)
BEGIN
  SELECT RAISE(ABORT, 'run_events is append-only: events are never changed, only redacted, with redactEvent');
END;
