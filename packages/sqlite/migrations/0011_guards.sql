-- oldest reader: 6
-- Makes the log append-only for INSERT OR REPLACE too. That statement removes conflicting rows, and SQLite fires no
-- delete trigger for them unless the connection has enabled recursive triggers. These triggers are part of the file, so
-- they apply to every connection.

-- One row that always exists. A statement in a trigger inherits the conflict clause of the statement that fired it: an
-- insert of this row is ignored, unless an INSERT OR REPLACE into run_events fired it. Then it really inserts and is
-- refused. Looking up the sequence and the key of each new event would cost three times as much.
CREATE TABLE run_events_guard (
  id INTEGER PRIMARY KEY CHECK (id = 1)
) STRICT;

INSERT INTO run_events_guard (id) VALUES (1);

CREATE TRIGGER run_events_guard_meets_replace AFTER INSERT ON run_events_guard
BEGIN
  SELECT RAISE(FAIL, 'run_events is append-only: a stored event is never replaced');
END;

-- Without the row every append would be refused.
CREATE TRIGGER run_events_guard_stays BEFORE DELETE ON run_events_guard
BEGIN
  SELECT RAISE(ABORT, 'run_events_guard keeps run_events append-only: its row stays');
END;

CREATE TRIGGER run_events_never_replaced BEFORE INSERT ON run_events
BEGIN
  INSERT OR IGNORE INTO run_events_guard (id) VALUES (1);
END;

-- Counts every redaction in its run, no matter which program made it.
CREATE TRIGGER run_events_count_redactions AFTER UPDATE OF redaction ON run_events
BEGIN
  UPDATE runs SET rewrites = rewrites + 1 WHERE run_id = NEW.run_id AND tenant_id = NEW.tenant_id;
END;
