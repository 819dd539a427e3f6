-- An index over payloads for your own queries. Applied with the option payloadIndex:
-- SELECT run_id, run_seq FROM run_events WHERE searchable(payload) @> '{"orderId": 42}'

-- Returns a payload as jsonb. Payloads are json, which can hold values that jsonb cannot (NUL characters, lone
-- surrogates, numbers out of range). Those are stored all the same, but not found by this index. Not parallel safe:
-- catching errors needs a subtransaction.
CREATE FUNCTION @searchable(payload json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN payload::jsonb;
EXCEPTION
  WHEN data_exception OR program_limit_exceeded THEN RETURN NULL;
END $$;

CREATE INDEX run_events_by_payload ON @run_events USING gin (@searchable(payload) jsonb_path_ops);
