-- An index of runs by their last update, for listRuns with orderBy: 'updatedAt'. Applied with the option updateIndex.
-- Every append changes it, and heads can no longer be updated in place.

CREATE INDEX runs_by_update ON @runs (updated_at, tenant_id, run_id);
