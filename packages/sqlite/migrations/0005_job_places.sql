-- Jobs: the index that claims and sweeps use.

-- An index entry of a job; packages/core/src/jobs/places.ts defines its format. Changed in the same step as the record.
CREATE TABLE kv_places (
  tenant_id TEXT NOT NULL,
  place     TEXT NOT NULL,
  key       TEXT NOT NULL,
  PRIMARY KEY (tenant_id, place, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kv_places_by_key ON kv_places (tenant_id, key);
