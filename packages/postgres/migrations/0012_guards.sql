-- oldest reader: 7
-- Stronger append-only guards: partitions cannot be truncated, and a redaction cannot be forged.

-- The login that redacted the event, as the server knows it. `by` in `redaction` is the name that the caller of
-- redactEvent passed.
ALTER TABLE @run_events ADD COLUMN redacted_as text;

-- Events are deleted only with their whole run, after the store has marked it as removed. One change is allowed: a
-- redaction. It carries the hash of the payload it removes, so that the chain still verifies, and changes nothing else.
-- The run counts every redaction, and the event records the login that made it.
CREATE OR REPLACE FUNCTION @refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  rest record;
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (
    SELECT 1 FROM @runs r WHERE r.run_id = OLD.run_id AND r.tenant_id = OLD.tenant_id AND r.removed IS NOT NULL
  ) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.redaction IS NULL AND NEW.redaction IS NOT NULL AND NEW.payload IS NULL THEN
    rest := NEW;
    rest.payload := OLD.payload;
    rest.redaction := OLD.redaction;
    rest.redacted_as := OLD.redacted_as;
    -- Compared as text, because json has no equality.
    IF rest::text = OLD::text AND NEW.redaction::json ->> 'payloadHash'
      = encode(sha256(convert_to(coalesce(OLD.payload::text, ''), 'UTF8')), 'hex')
    THEN
      UPDATE @runs r SET rewrites = r.rewrites + 1 WHERE r.run_id = OLD.run_id AND r.tenant_id = OLD.tenant_id;
      NEW.redacted_as := session_user;
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'run_events is append-only: events are only redacted, with redactEvent, and only whole runs are removed, with deleteRun';
END $$;

-- Redacts with the rights of the owner of the tables, so that no other role needs to change events. Available to roles
-- that may append, and under row-level security only within the tenants of the transaction. Returns changed, known
-- (already redacted; the first redaction stays) or missing.
CREATE FUNCTION @redact_event(of_tenant text, of_run text, of_seq bigint, with_redaction text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  caller name := CASE WHEN current_setting('role') = 'none' THEN session_user ELSE current_setting('role') END;
  tenants text := coalesce(current_setting('tidemark.tenants', true), '');
  outcome text := 'missing';
BEGIN
  IF NOT has_table_privilege(caller, '@run_events', 'INSERT') THEN
    RAISE EXCEPTION 'role % may not redact events', caller USING ERRCODE = 'insufficient_privilege';
  END IF;
  -- The owner may be a superuser, who bypasses policies. The function exists only with row-level security.
  IF to_regprocedure('@allowed_tenants()') IS NOT NULL THEN
    IF caller <> 'tidemark_admin' AND NOT of_tenant = ANY (@allowed_tenants()) THEN
      RETURN outcome;
    END IF;
  END IF;
  PERFORM set_config('tidemark.tenants', json_build_array(of_tenant)::text, true);
  -- The head first, like every writer of the run.
  PERFORM 1 FROM @runs r WHERE r.run_id = of_run AND r.tenant_id = of_tenant AND r.removed IS NULL FOR UPDATE;
  IF FOUND THEN
    UPDATE @run_events e SET payload = NULL, redaction = with_redaction
    WHERE e.run_id = of_run AND e.tenant_id = of_tenant AND e.run_seq = of_seq AND e.redaction IS NULL;
    IF FOUND THEN
      outcome := 'changed';
    ELSIF EXISTS (SELECT 1 FROM @run_events e WHERE e.run_id = of_run AND e.tenant_id = of_tenant AND e.run_seq = of_seq) THEN
      outcome := 'known';
    END IF;
  END IF;
  PERFORM set_config('tidemark.tenants', tenants, true);
  RETURN outcome;
END $$;

-- A truncate trigger of a partitioned table does not apply to its partitions, and is not copied to new ones. Call this
-- again after adding a partition by hand; doctor names partitions without it.
CREATE FUNCTION @guard_partitions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  part regclass;
BEGIN
  FOR part IN
    SELECT tree.relid FROM pg_partition_tree('@run_events') AS tree
    WHERE NOT EXISTS (
      SELECT 1 FROM pg_trigger t WHERE t.tgrelid = tree.relid AND t.tgname = 'run_events_never_truncated')
  LOOP
    EXECUTE format('CREATE TRIGGER run_events_never_truncated BEFORE TRUNCATE ON %s
      FOR EACH STATEMENT EXECUTE FUNCTION @refuse_event_change()', part);
  END LOOP;
END $$;

SELECT @guard_partitions();

-- If row-level security is already in force, its roles lose the right to change events, now and after the next call of
-- confine_tenants, whose stored text still grants it.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN
    EXECUTE replace(
      pg_get_functiondef('@confine_tenants()'::regprocedure),
      'GRANT UPDATE (payload, redaction) ON @run_events TO tidemark_writer, tidemark_admin;',
      '');
    REVOKE UPDATE ON @run_events FROM tidemark_writer, tidemark_admin;
  END IF;
END $$;
