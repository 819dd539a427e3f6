-- oldest reader: 7
-- Damaged runs: feeds skip them from a sequence on, until they are repaired and released.

CREATE TABLE @run_quarantines (
  tenant_id text COLLATE "C" NOT NULL,
  run_id    text COLLATE "C" NOT NULL,
  from_seq  bigint NOT NULL,
  reason    text NOT NULL,
  found_at  bigint NOT NULL,
  state     text NOT NULL CHECK (state IN ('quarantined', 'released')),
  -- The number of its release, or 0 before it.
  release   bigint NOT NULL,
  PRIMARY KEY (tenant_id, run_id)
);

CREATE INDEX run_quarantines_by_release ON @run_quarantines (state, release);

-- Release numbers, taken under a lock that is held until the commit. They outlive the entries, so that no number is
-- reused.
CREATE SEQUENCE @run_releases;

-- If row-level security is already in force, apply it here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
