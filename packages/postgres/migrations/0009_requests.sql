-- oldest reader: 7
-- Data that outlives its record for a while: request ids, versions of memory states, consumed pauses.

-- Answers to requests, kept beside the record that the request changed until `forget_at`. `id` is a hash of key and
-- request id.
CREATE TABLE @requests (
  tenant_id text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  answer    text NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (tenant_id, id)
);

CREATE INDEX requests_by_end ON @requests (forget_at);

-- When a memory state was deleted. Its row stays without content for a day, so that no version is reused.
ALTER TABLE @memory_states ADD COLUMN deleted_at bigint;

CREATE INDEX memory_states_deleted ON @memory_states (deleted_at) WHERE deleted_at IS NOT NULL;

-- Until when a retry of the request that consumed the pause is answered, even after the pause has expired.
ALTER TABLE @planner_pauses ADD COLUMN kept_until bigint;

-- If row-level security is already in force, apply it here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
