-- KV: records, their fields, and the sequence that revisions come from.

-- A record is invisible from `expires_at` on. `requests` holds the last request ids as a JSON array.
CREATE TABLE @kv_records (
  tenant_id  text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  revision   bigint NOT NULL,
  expires_at bigint,
  requests   text,
  PRIMARY KEY (tenant_id, key)
);

CREATE INDEX kv_records_by_expiry ON @kv_records (expires_at) WHERE expires_at IS NOT NULL;

-- The fields of a record; every record has at least one.
CREATE TABLE @kv_fields (
  tenant_id text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  field     text COLLATE "C" NOT NULL,
  value     bytea NOT NULL,
  PRIMARY KEY (tenant_id, key, field)
);

-- Revisions of all records. It only grows, so that no revision of a key is reused.
CREATE SEQUENCE @kv_revision;
