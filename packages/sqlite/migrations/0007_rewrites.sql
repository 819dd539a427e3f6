-- A counter of each run that moves when stored events change: with every redaction and every restore. A snapshot remembers
-- the value its fold knew, and is outdated when the run has another.
ALTER TABLE runs ADD COLUMN rewrites INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_snapshots ADD COLUMN rewrites INTEGER NOT NULL DEFAULT 0;
