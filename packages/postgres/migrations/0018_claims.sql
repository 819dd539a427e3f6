-- oldest reader: 9
-- Claims whose job the server chooses. If the reply is lost, a retry does not know the job, so it first stores that the
-- claim is closed, and then waits for claims that have not seen that.

-- A lock of the claims of a type. Claims share it until their commit.
CREATE FUNCTION @claim_lock(tenant text, type text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT hashtext(tenant || '/' || type) $$;

-- Returns those of the claims that are closed, by the ids of their requests. Takes the lock first, and reads everything
-- that was committed before that.
CREATE FUNCTION @closed_claims(tenant text, type text, ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7420044, @claim_lock(tenant, type));
  RETURN ARRAY(SELECT r.id FROM @requests r WHERE r.tenant_id = tenant AND r.id = ANY (ids));
END $$;

-- Jobs are changed several times in their lives. Free space lets the server change their rows in place.
ALTER TABLE @kv_records SET (fillfactor = 60);
ALTER TABLE @kv_fields SET (fillfactor = 75);
