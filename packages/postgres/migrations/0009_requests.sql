-- oldest reader: 7
-- What outlives its record for a while: request ids, versions of memory states, consumed pauses.

-- What requests were answered, kept beside the record they changed until `forget_at`; `id` is a hash of key and request id.
CREATE TABLE @requests (
  tenant_id text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  answer    text NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (tenant_id, id)
);

CREATE INDEX requests_by_end ON @requests (forget_at);

-- Of a memory state that was deleted: its row stays without content for a day, so that no version comes twice.
ALTER TABLE @memory_states ADD COLUMN deleted_at bigint;

CREATE INDEX memory_states_deleted ON @memory_states (deleted_at) WHERE deleted_at IS NOT NULL;

-- Of a consumed pause: until when a retry of the request that consumed it is answered, also after it expired.
ALTER TABLE @planner_pauses ADD COLUMN kept_until bigint;

-- Where tenants are kept apart already, here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
