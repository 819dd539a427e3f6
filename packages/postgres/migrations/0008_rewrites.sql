-- A counter per run that grows when stored events change: with every redaction and every restore. A snapshot stores the
-- value that it was folded with, and is outdated when the run's value differs.
ALTER TABLE @runs ADD COLUMN rewrites bigint NOT NULL DEFAULT 0;
ALTER TABLE @run_snapshots ADD COLUMN rewrites bigint NOT NULL DEFAULT 0;
