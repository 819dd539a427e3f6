-- oldest reader: 7
-- The format of the chain of each commit, NULL for format 1. Writers use format 2 once the store's marker is raised:
-- `oldest_reader` of this migration then equals its version, so that libraries which do not know the format refuse the
-- schema.
ALTER TABLE @run_events ADD COLUMN chain_format smallint;
