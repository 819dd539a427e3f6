-- oldest reader: 6
-- What outlives its record for a while: request ids, versions of memory states, consumed pauses. And the clock that
-- processes share while the machine's own is set back.

-- What requests were answered, kept beside the record they changed until `forget_at`; `id` is a hash of key and request id.
CREATE TABLE requests (
  tenant_id TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  answer    TEXT    NOT NULL,
  forget_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX requests_by_end ON requests (forget_at);

-- Of a memory state that was deleted: its row stays without content for a day, so that no version comes twice.
ALTER TABLE memory_states ADD COLUMN deleted_at INTEGER;

CREATE INDEX memory_states_deleted ON memory_states (deleted_at) WHERE deleted_at IS NOT NULL;

-- Of a consumed pause: until when a retry of the request that consumed it is answered, also after it expired.
ALTER TABLE planner_pauses ADD COLUMN kept_until INTEGER;

-- One row while a process is ahead of the wall clock: its time, and the machine's uptime counter at that time.
CREATE TABLE store_clock (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  time    INTEGER NOT NULL,
  counter INTEGER NOT NULL
) STRICT;
