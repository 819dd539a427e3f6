-- oldest reader: 9
-- Bindings as routers use them: whose session they belong to, whether they are terminal, and the other members as one
-- document with its own checksum. `about_sum` covers the key, the session and the flag; `sum` stays as older versions
-- know it. `recency` orders the bindings of a session, and every change by a version that knows it raises it.
ALTER TABLE @remote_bindings ADD COLUMN router_session_id text COLLATE "C";
ALTER TABLE @remote_bindings ADD COLUMN is_terminal integer;
ALTER TABLE @remote_bindings ADD COLUMN about_sum integer;
ALTER TABLE @remote_bindings ADD COLUMN details json;
ALTER TABLE @remote_bindings ADD COLUMN recency bigint;

CREATE INDEX remote_bindings_by_session ON @remote_bindings (tenant_id, router_session_id, recency DESC)
WHERE router_session_id IS NOT NULL;

-- A process of an older version may still save a binding here. That replaces it whole, and what it does not know goes.
CREATE FUNCTION @replace_binding() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.router_session_id := NULL;
  NEW.is_terminal := NULL;
  NEW.about_sum := NULL;
  NEW.details := NULL;
  NEW.recency := NULL;
  RETURN NEW;
END $$;

CREATE TRIGGER remote_bindings_replaced BEFORE UPDATE OF agent_url ON @remote_bindings FOR EACH ROW
WHEN (NEW.recency = OLD.recency) EXECUTE FUNCTION @replace_binding();
