-- oldest reader: 8
-- Checksums: CRC-32 of a value, seeded with its key. A row from before has none until it is written again. Documents
-- carry theirs in the white space at the end of their JSON text.

-- Of the whole record: the total of the sums of its fields, its revision and its expiry.
ALTER TABLE kv_records ADD COLUMN sum INTEGER;
ALTER TABLE kv_fields ADD COLUMN sum INTEGER;

-- Of the columns beside the document.
ALTER TABLE memory_states ADD COLUMN sum INTEGER;
ALTER TABLE planner_pauses ADD COLUMN sum INTEGER;
ALTER TABLE remote_bindings ADD COLUMN sum INTEGER;

-- Of the bytes. Bytes in the directory have one sum per 256 KiB, four bytes each.
ALTER TABLE artifact_chunks ADD COLUMN sum INTEGER;
ALTER TABLE artifact_blobs ADD COLUMN sums BLOB;

-- A process of an older version may still write here without checksums: rows that it changes lose theirs.
CREATE TRIGGER kv_records_sum AFTER UPDATE OF revision ON kv_records WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum
BEGIN
  UPDATE kv_records SET sum = NULL WHERE tenant_id = NEW.tenant_id AND key = NEW.key;
END;

CREATE TRIGGER kv_fields_sum AFTER UPDATE OF value ON kv_fields
WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum AND NEW.value <> OLD.value
BEGIN
  UPDATE kv_fields SET sum = NULL WHERE tenant_id = NEW.tenant_id AND key = NEW.key AND field = NEW.field;
END;

CREATE TRIGGER memory_states_sum AFTER UPDATE OF updated_at ON memory_states
WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum
BEGIN
  UPDATE memory_states SET sum = NULL WHERE tenant_id = NEW.tenant_id AND key = NEW.key;
END;

CREATE TRIGGER planner_pauses_sum AFTER UPDATE OF reason ON planner_pauses
WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum
  AND (NEW.reason IS NOT OLD.reason OR NEW.session_id IS NOT OLD.session_id OR NEW.task_id IS NOT OLD.task_id)
BEGIN
  UPDATE planner_pauses SET sum = NULL WHERE tenant_id = NEW.tenant_id AND pause_id = NEW.pause_id;
END;

CREATE TRIGGER remote_bindings_sum AFTER UPDATE OF agent_url ON remote_bindings
WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum AND NEW.agent_url <> OLD.agent_url
BEGIN
  UPDATE remote_bindings SET sum = NULL
  WHERE tenant_id = NEW.tenant_id AND trace_id = NEW.trace_id AND context_id = NEW.context_id AND task_id = NEW.task_id;
END;

CREATE TRIGGER artifact_chunks_sum AFTER UPDATE OF bytes ON artifact_chunks
WHEN NEW.sum IS NOT NULL AND NEW.sum = OLD.sum AND NEW.bytes <> OLD.bytes
BEGIN
  UPDATE artifact_chunks SET sum = NULL WHERE tenant_id = NEW.tenant_id AND upload_id = NEW.upload_id AND part = NEW.part;
END;
