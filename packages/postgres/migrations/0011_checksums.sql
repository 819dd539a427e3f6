-- oldest reader: 9
-- Checksums: CRC-32 of a value, seeded with its key. A row from before has none until it is written again. Documents
-- carry theirs in the white space at the end of their JSON text.

-- Of the whole record: the total of the sums of its fields, its revision and its expiry.
ALTER TABLE @kv_records ADD COLUMN sum integer;
ALTER TABLE @kv_fields ADD COLUMN sum integer;

-- Of the columns beside the document.
ALTER TABLE @memory_states ADD COLUMN sum integer;
ALTER TABLE @planner_pauses ADD COLUMN sum integer;
ALTER TABLE @remote_bindings ADD COLUMN sum integer;

-- Of the bytes. Bytes outside the database have one sum per 256 KiB, four bytes each.
ALTER TABLE @artifact_chunks ADD COLUMN sum integer;
ALTER TABLE @artifact_blobs ADD COLUMN sums bytea;

-- A process of an older version may still write here without checksums: rows that it changes lose theirs.
CREATE FUNCTION @drop_sum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sum := NULL;
  RETURN NEW;
END $$;

CREATE TRIGGER kv_records_sum BEFORE UPDATE OF revision ON @kv_records FOR EACH ROW
WHEN (NEW.sum = OLD.sum) EXECUTE FUNCTION @drop_sum();

CREATE TRIGGER kv_fields_sum BEFORE UPDATE OF value ON @kv_fields FOR EACH ROW
WHEN (NEW.sum = OLD.sum AND NEW.value <> OLD.value) EXECUTE FUNCTION @drop_sum();

CREATE TRIGGER memory_states_sum BEFORE UPDATE OF updated_at ON @memory_states FOR EACH ROW
WHEN (NEW.sum = OLD.sum) EXECUTE FUNCTION @drop_sum();

CREATE TRIGGER planner_pauses_sum BEFORE UPDATE OF reason ON @planner_pauses FOR EACH ROW
WHEN (NEW.sum = OLD.sum AND (NEW.reason IS DISTINCT FROM OLD.reason OR NEW.session_id IS DISTINCT FROM OLD.session_id
  OR NEW.task_id IS DISTINCT FROM OLD.task_id)) EXECUTE FUNCTION @drop_sum();

CREATE TRIGGER remote_bindings_sum BEFORE UPDATE OF agent_url ON @remote_bindings FOR EACH ROW
WHEN (NEW.sum = OLD.sum AND NEW.agent_url <> OLD.agent_url) EXECUTE FUNCTION @drop_sum();

CREATE TRIGGER artifact_chunks_sum BEFORE UPDATE OF bytes ON @artifact_chunks FOR EACH ROW
WHEN (NEW.sum = OLD.sum AND NEW.bytes <> OLD.bytes) EXECUTE FUNCTION @drop_sum();
