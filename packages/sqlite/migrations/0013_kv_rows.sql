-- oldest reader: 8
-- The values of fields in a table with row ids. SQLite looks a key up by comparing it with whole rows of a table
-- without row ids, so every lookup near a large value read that value.
CREATE TABLE kv_fields_with_rowid (
  tenant_id TEXT NOT NULL,
  key       TEXT NOT NULL,
  field     TEXT NOT NULL,
  value     BLOB NOT NULL,
  sum       INTEGER,
  PRIMARY KEY (tenant_id, key, field)
) STRICT;

INSERT INTO kv_fields_with_rowid (tenant_id, key, field, value, sum)
SELECT tenant_id, key, field, value, sum FROM kv_fields ORDER BY tenant_id, key, field;

DROP TABLE kv_fields;
ALTER TABLE kv_fields_with_rowid RENAME TO kv_fields;

-- The trigger of the old table, as in migration 10.
CREATE TRIGGER kv_fields_sum AFTER UPDATE OF value ON kv_fields
WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum AND NEW.value <> OLD.value
BEGIN
  UPDATE kv_fields SET sum = NULL WHERE tenant_id = NEW.tenant_id AND key = NEW.key AND field = NEW.field;
END;
