-- Redaction: the payload of an event can be removed for good. The event then records who did it, when and why.

-- JSON: the SHA-256 of the removed payload, with which the chain still verifies, and `at`, `by` and `reason`.
ALTER TABLE @run_events ADD COLUMN redaction text;

-- Events are deleted only with their whole run, after the store has marked it as removed. Exactly one change is
-- allowed, once: the payload is removed and the redaction is set. All other columns stay.
CREATE OR REPLACE FUNCTION @refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (
    SELECT 1 FROM @runs r WHERE r.run_id = OLD.run_id AND r.tenant_id = OLD.tenant_id AND r.removed IS NOT NULL
  ) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.redaction IS NULL AND NEW.redaction IS NOT NULL AND NEW.payload IS NULL
    AND NEW.extra::text IS NOT DISTINCT FROM OLD.extra::text
    AND NEW.step_id IS NOT DISTINCT FROM OLD.step_id
    AND (NEW.tenant_id, NEW.run_id, NEW.run_seq, NEW.event_id, NEW.event_type, NEW.emitted_at, NEW.persisted_at,
      NEW.project_id, NEW.environment_id, NEW.plan_id, NEW.plan_version, NEW.engine_attempt_id, NEW.logical_attempt_id,
      NEW.idempotency_key, NEW.commit_index, NEW.link, NEW.epoch, NEW.xid, NEW.position)
      = (OLD.tenant_id, OLD.run_id, OLD.run_seq, OLD.event_id, OLD.event_type, OLD.emitted_at, OLD.persisted_at,
      OLD.project_id, OLD.environment_id, OLD.plan_id, OLD.plan_version, OLD.engine_attempt_id, OLD.logical_attempt_id,
      OLD.idempotency_key, OLD.commit_index, OLD.link, OLD.epoch, OLD.xid, OLD.position)
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'run_events is append-only: events are only redacted, with redactEvent, and only whole runs are removed, with deleteRun';
END $$;

-- For listing tenants and for erasing one.
CREATE INDEX runs_by_tenant ON @runs (tenant_id, run_id);

-- If updates are refused by privilege too, allow these two columns; the trigger checks them.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN
    GRANT UPDATE (payload, redaction) ON @run_events TO tidemark_writer, tidemark_admin;
  END IF;
END $$;
