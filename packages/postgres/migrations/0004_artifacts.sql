-- Artifacts: references in scopes, and bytes stored once per tenant and SHA-256 (AGT-11).

-- References. `scope_tenant_id` is the tenant as the caller named it; `tenant_id` owns the row.
CREATE TABLE @artifacts (
  tenant_id       text COLLATE "C" NOT NULL,
  id              text COLLATE "C" NOT NULL,
  sha256          text COLLATE "C" NOT NULL,
  size_bytes      bigint NOT NULL,
  mime_type       text,
  filename        text,
  scope_tenant_id text,
  user_id         text,
  session_id      text COLLATE "C",
  trace_id        text COLLATE "C",
  namespace       text,
  created_at      bigint NOT NULL,
  accessed_at     bigint NOT NULL,
  expires_at      bigint,
  source          json   NOT NULL,
  PRIMARY KEY (tenant_id, id)
);

CREATE INDEX artifacts_by_session ON @artifacts (tenant_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX artifacts_by_trace ON @artifacts (tenant_id, trace_id, id) WHERE trace_id IS NOT NULL;
CREATE INDEX artifacts_by_bytes ON @artifacts (tenant_id, sha256);
CREATE INDEX artifacts_by_expiry ON @artifacts (expires_at) WHERE expires_at IS NOT NULL;

-- Bytes by their hash: in the directory beside the database, or in the chunks of the upload that stored them.
CREATE TABLE @artifact_blobs (
  tenant_id  text COLLATE "C" NOT NULL,
  sha256     text COLLATE "C" NOT NULL,
  size_bytes bigint NOT NULL,
  stored_at  bigint NOT NULL,
  place      text   NOT NULL CHECK (place IN ('table', 'directory')),
  upload_id  text COLLATE "C",
  PRIMARY KEY (tenant_id, sha256),
  CHECK ((place = 'table') = (upload_id IS NOT NULL))
);

-- Uploads in progress. A crash leaves uploads that are no longer renewed; a sweep removes them.
CREATE TABLE @artifact_uploads (
  tenant_id  text COLLATE "C" NOT NULL,
  upload_id  text COLLATE "C" NOT NULL,
  renewed_at bigint NOT NULL,
  PRIMARY KEY (tenant_id, upload_id)
);

-- The bytes of an upload in chunks of at most 256 KiB, numbered from 0.
CREATE TABLE @artifact_chunks (
  tenant_id text COLLATE "C" NOT NULL,
  upload_id text COLLATE "C" NOT NULL,
  part      bigint NOT NULL,
  bytes     bytea    NOT NULL,
  PRIMARY KEY (tenant_id, upload_id, part)
);
