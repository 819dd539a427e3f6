-- oldest reader: 9
-- Claims that choose their job on the server. A retry of a claim whose reply was lost does not know the job, so it first
-- stores that the claim is closed.

-- Returns the claims that are closed, by the ids of their requests. Locks the types of jobs until the end of the
-- transaction, and reads after that: whoever closes a claim waits for the lock and then finds the job that was claimed.
CREATE FUNCTION @closed_claims(type_tenants text[], types text[], tenants text[], ids text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7420044, key) FROM (
    SELECT DISTINCT @claim_lock(t.tenant, t.type) AS key FROM unnest(type_tenants, types) AS t (tenant, type) ORDER BY 1
  ) AS keys;
  RETURN ARRAY(
    SELECT r.id FROM unnest(tenants, ids) AS c (tenant, id) JOIN @requests r ON r.tenant_id = c.tenant AND r.id = c.id
  );
END $$;

CREATE FUNCTION @claim_lock(tenant text, type text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT hashtext(tenant || '/' || type) $$;
