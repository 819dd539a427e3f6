-- Jobs: where each stands in the index that claims and sweeps go by.

-- A place of a job; its words are in packages/core/src/jobs/places.ts. Changed in the same step as the record.
CREATE TABLE kv_places (
  tenant_id TEXT NOT NULL,
  place     TEXT NOT NULL,
  key       TEXT NOT NULL,
  PRIMARY KEY (tenant_id, place, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kv_places_by_key ON kv_places (tenant_id, key);
