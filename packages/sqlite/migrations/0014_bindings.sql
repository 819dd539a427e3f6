-- oldest reader: 8
-- Bindings as routers use them: whose session they belong to, whether they are terminal, and the other members as one
-- document with its own checksum. `about_sum` covers the key, the session and the flag; `sum` stays as older versions
-- know it. `recency` orders the bindings of a session, and every change by a version that knows it raises it.
ALTER TABLE remote_bindings ADD COLUMN router_session_id TEXT;
ALTER TABLE remote_bindings ADD COLUMN is_terminal INTEGER;
ALTER TABLE remote_bindings ADD COLUMN about_sum INTEGER;
ALTER TABLE remote_bindings ADD COLUMN details TEXT;
ALTER TABLE remote_bindings ADD COLUMN recency INTEGER;

CREATE INDEX remote_bindings_by_session ON remote_bindings (tenant_id, router_session_id, recency DESC)
WHERE router_session_id IS NOT NULL;

-- A process of an older version may still save a binding here. That replaces it whole, and what it does not know goes.
CREATE TRIGGER remote_bindings_replaced AFTER UPDATE OF agent_url ON remote_bindings
WHEN NEW.recency IS NOT NULL AND NEW.recency = OLD.recency
BEGIN
  UPDATE remote_bindings
  SET router_session_id = NULL, is_terminal = NULL, about_sum = NULL, details = NULL, recency = NULL
  WHERE tenant_id = NEW.tenant_id AND trace_id = NEW.trace_id AND context_id = NEW.context_id AND task_id = NEW.task_id;
END;
