-- oldest reader: 7
-- Runs in which damage was found: feeds pass over them from a sequence on, until they are repaired and released.

CREATE TABLE @run_quarantines (
  tenant_id text COLLATE "C" NOT NULL,
  run_id    text COLLATE "C" NOT NULL,
  from_seq  bigint NOT NULL,
  reason    text NOT NULL,
  found_at  bigint NOT NULL,
  state     text NOT NULL CHECK (state IN ('quarantined', 'released')),
  -- The number of its release, 0 until then.
  release   bigint NOT NULL,
  PRIMARY KEY (tenant_id, run_id)
);

CREATE INDEX run_quarantines_by_release ON @run_quarantines (state, release);

-- Numbers of releases, taken under a lock that is held to the commit. They outlive the entries: no number comes twice.
CREATE SEQUENCE @run_releases;

-- Where tenants are kept apart already, here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
