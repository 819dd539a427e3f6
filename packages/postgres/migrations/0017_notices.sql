-- oldest reader: 9
-- Notices of the feed: what happened to runs besides new events. Written in the transaction of the change.

-- In the order of the feed, which orders events by the same three columns.
CREATE TABLE @run_notices (
  epoch     integer NOT NULL,
  xid       xid8    NOT NULL,
  position  bigint  NOT NULL DEFAULT nextval('@run_events_position'),
  tenant_id text COLLATE "C" NOT NULL,
  run_id    text COLLATE "C" NOT NULL,
  notice    text    NOT NULL,
  PRIMARY KEY (epoch, xid, position)
);

CREATE INDEX run_notices_by_tenant ON @run_notices (tenant_id, position);

-- The number of a quarantine, from the same counter as releases. 0 if an older version quarantined the run.
ALTER TABLE @run_quarantines ADD COLUMN notice bigint NOT NULL DEFAULT 0;

-- If row-level security is already in force, apply it here too.
DO $$
BEGIN
  IF to_regprocedure('@confine_tenants()') IS NOT NULL THEN PERFORM @confine_tenants(); END IF;
END $$;
