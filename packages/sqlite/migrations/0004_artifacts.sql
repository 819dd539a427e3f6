-- Artifacts: references in scopes, and bytes stored once per tenant and SHA-256 (AGT-11).

-- References. `scope_tenant_id` is the tenant as the caller named it; `tenant_id` owns the row.
CREATE TABLE artifacts (
  tenant_id       TEXT    NOT NULL,
  id              TEXT    NOT NULL,
  sha256          TEXT    NOT NULL,
  size_bytes      INTEGER NOT NULL,
  mime_type       TEXT,
  filename        TEXT,
  scope_tenant_id TEXT,
  user_id         TEXT,
  session_id      TEXT,
  trace_id        TEXT,
  namespace       TEXT,
  created_at      INTEGER NOT NULL,
  accessed_at     INTEGER NOT NULL,
  expires_at      INTEGER,
  source          TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE INDEX artifacts_by_session ON artifacts (tenant_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX artifacts_by_trace ON artifacts (tenant_id, trace_id, id) WHERE trace_id IS NOT NULL;
CREATE INDEX artifacts_by_bytes ON artifacts (tenant_id, sha256);
CREATE INDEX artifacts_by_expiry ON artifacts (expires_at) WHERE expires_at IS NOT NULL;

-- Bytes by their hash: in the directory beside the database, or in the chunks of the upload that stored them.
CREATE TABLE artifact_blobs (
  tenant_id  TEXT    NOT NULL,
  sha256     TEXT    NOT NULL,
  size_bytes INTEGER NOT NULL,
  stored_at  INTEGER NOT NULL,
  place      TEXT    NOT NULL CHECK (place IN ('table', 'directory')),
  upload_id  TEXT,
  PRIMARY KEY (tenant_id, sha256),
  CHECK ((place = 'table') = (upload_id IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- Uploads in progress. A crash leaves uploads that are no longer renewed; a sweep removes them.
CREATE TABLE artifact_uploads (
  tenant_id  TEXT    NOT NULL,
  upload_id  TEXT    NOT NULL,
  renewed_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, upload_id)
) STRICT, WITHOUT ROWID;

-- The bytes of an upload in chunks of at most 256 KiB, numbered from 0.
CREATE TABLE artifact_chunks (
  tenant_id TEXT    NOT NULL,
  upload_id TEXT    NOT NULL,
  part      INTEGER NOT NULL,
  bytes     BLOB    NOT NULL,
  PRIMARY KEY (tenant_id, upload_id, part)
) STRICT;
