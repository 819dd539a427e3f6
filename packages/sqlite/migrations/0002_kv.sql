-- KV: records, their fields, and the counter that revisions come from.

-- A record is invisible from `expires_at` on. `requests` holds the last request ids as a JSON array.
CREATE TABLE kv_records (
  tenant_id  TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  revision   INTEGER NOT NULL,
  expires_at INTEGER,
  requests   TEXT,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kv_records_by_expiry ON kv_records (expires_at) WHERE expires_at IS NOT NULL;

-- The fields of a record; every record has at least one.
CREATE TABLE kv_fields (
  tenant_id TEXT NOT NULL,
  key       TEXT NOT NULL,
  field     TEXT NOT NULL,
  value     BLOB NOT NULL,
  PRIMARY KEY (tenant_id, key, field)
) STRICT, WITHOUT ROWID;

-- One row: the revision of the latest change of any record. It only grows, so that no revision of a key is reused.
CREATE TABLE kv_revision (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL
) STRICT;

INSERT INTO kv_revision (id, revision) VALUES (1, 0);
