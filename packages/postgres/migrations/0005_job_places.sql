-- Jobs: where each stands in the index that claims and sweeps go by.

-- A place of a job; its words are in packages/core/src/jobs/places.ts. Changed in the same step as the record.
CREATE TABLE @kv_places (
  tenant_id text COLLATE "C" NOT NULL,
  place     text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant_id, place, key)
);

CREATE INDEX kv_places_by_key ON @kv_places (tenant_id, key);

-- Where tenants are kept apart already, here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
