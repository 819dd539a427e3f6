-- oldest reader: 8
-- Notices of the feed: what happened to runs besides new events. Written in the transaction of the change.

-- `after_event` is the position of the last event that was stored before the notice, so that a feed can merge both.
CREATE TABLE run_notices (
  position    INTEGER PRIMARY KEY AUTOINCREMENT,
  after_event INTEGER NOT NULL,
  tenant_id   TEXT    NOT NULL,
  run_id      TEXT    NOT NULL,
  notice      TEXT    NOT NULL
) STRICT;

CREATE INDEX run_notices_in_feed ON run_notices (after_event, position);
CREATE INDEX run_notices_by_tenant ON run_notices (tenant_id, position);

-- The number of a quarantine, from the same counter as releases. 0 if an older version quarantined the run.
ALTER TABLE run_quarantines ADD COLUMN notice INTEGER NOT NULL DEFAULT 0;
