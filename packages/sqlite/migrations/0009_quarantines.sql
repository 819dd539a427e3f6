-- oldest reader: 6
-- Damaged runs: feeds skip them from a sequence on, until they are repaired and released.

CREATE TABLE run_quarantines (
  tenant_id TEXT    NOT NULL,
  run_id    TEXT    NOT NULL,
  from_seq  INTEGER NOT NULL,
  reason    TEXT    NOT NULL,
  found_at  INTEGER NOT NULL,
  state     TEXT    NOT NULL CHECK (state IN ('quarantined', 'released')),
  -- The number of its release, or 0 before it.
  release   INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, run_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_quarantines_by_release ON run_quarantines (state, release);

-- The last release number. It outlives the entries, so that no number is reused.
CREATE TABLE run_releases (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  last INTEGER NOT NULL
) STRICT;

INSERT INTO run_releases (id, last) VALUES (1, 0);
