-- Jobs: the index that claims and sweeps use.

-- An index entry of a job; packages/core/src/jobs/places.ts defines its format. Changed in the same step as the record.
CREATE TABLE @kv_places (
  tenant_id text COLLATE "C" NOT NULL,
  place     text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant_id, place, key)
);

CREATE INDEX kv_places_by_key ON @kv_places (tenant_id, key);

-- If row-level security is already in force, apply it here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
