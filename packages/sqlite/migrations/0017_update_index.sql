-- oldest reader: 8
-- Runs by their last update, for listRuns with orderBy: 'updatedAt'.

CREATE INDEX runs_by_update ON runs (updated_at, tenant_id, run_id);
