-- oldest reader: 6
-- Data that outlives its record for a while: request ids, versions of memory states, consumed pauses. And the clock
-- that processes share after the machine's clock was set back.

-- Answers to requests, kept beside the record that the request changed until `forget_at`. `id` is a hash of key and
-- request id.
CREATE TABLE requests (
  tenant_id TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  answer    TEXT    NOT NULL,
  forget_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX requests_by_end ON requests (forget_at);

-- When a memory state was deleted. Its row stays without content for a day, so that no version is reused.
ALTER TABLE memory_states ADD COLUMN deleted_at INTEGER;

CREATE INDEX memory_states_deleted ON memory_states (deleted_at) WHERE deleted_at IS NOT NULL;

-- Until when a retry of the request that consumed the pause is answered, even after the pause has expired.
ALTER TABLE planner_pauses ADD COLUMN kept_until INTEGER;

-- One row while a process is ahead of the wall clock: its time, and the machine's uptime at that time.
CREATE TABLE store_clock (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  time    INTEGER NOT NULL,
  counter INTEGER NOT NULL
) STRICT;
