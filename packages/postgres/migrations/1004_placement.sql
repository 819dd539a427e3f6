-- Tenants placed on several servers: the fence that every placed server has, and the directory, which only the first
-- server uses. Applied with the option servers.

-- The identity of this server. A server that is configured under another server's name is refused.
CREATE TABLE @placed_server (
  one       boolean PRIMARY KEY DEFAULT true CHECK (one),
  directory text    NOT NULL,
  ordinal   integer NOT NULL
);

-- The tenants that were ever moved from or to this server. Only their mover may write them while they are `incoming`
-- (copied to this server), `frozen` (the last changes are copied away) or `moved` (on another server). A tenant at `home`
-- may be written. A row is changed only by its move or a later one, so that a mover that stalled changes nothing. The
-- column is not named tenant_id, because these rows are not data of the tenant.
CREATE TABLE @tenant_fences (
  tenant     text COLLATE "C" PRIMARY KEY,
  state      text    NOT NULL,
  move       bigint  NOT NULL,
  mover      text    NOT NULL,
  -- A freeze ends by itself at this time, in milliseconds, unless the move was decided before.
  until      bigint,
  -- Set with `moved`: where the feed of this server ends for the tenant, and where that of the new server begins.
  from_end   text,
  to_start   text
);

-- Writers share one of 64 locks, chosen by tenant; a mover that changes a fence takes it alone. So no transaction that was
-- admitted is still open when a fence is set. Few locks, because a server has room for few.
CREATE FUNCTION @fence_lock(tenant text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 7420043000 + (hashtext(tenant) & 63) $$;

-- Refuses changes of fenced tenants, at the end of every statement. Each statement in here sees everything that was
-- committed before the lock was taken.
CREATE FUNCTION @refuse_fenced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  fence record;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(key) FROM (
    SELECT DISTINCT @fence_lock(tenant_id) AS key FROM changed ORDER BY 1
  ) AS keys;
  FOR fence IN
    SELECT f.* FROM @tenant_fences f WHERE f.tenant IN (SELECT tenant_id FROM changed)
  LOOP
    CONTINUE WHEN fence.state = 'home' OR fence.move::text = current_setting('tidemark.move', true);
    IF fence.state = 'frozen' AND fence.until <= @tidemark_now() THEN
      -- Ended for good, so that the move that set it cannot be decided any more.
      UPDATE @tenant_fences f SET state = 'home', until = NULL
      WHERE f.tenant = fence.tenant AND f.state = 'frozen' AND f.until = fence.until;
      CONTINUE;
    END IF;
    RAISE EXCEPTION 'tenant % is % on this server', fence.tenant, fence.state
      USING ERRCODE = '55TMF', DETAIL = json_build_object('state', fence.state, 'move', fence.move)::text;
  END LOOP;
  RETURN NULL;
END $$;

-- Puts every table that holds data of tenants behind the fence. Quarantines of all tenants are on the first server. May
-- be called again: a later migration that adds a table ends with it.
CREATE FUNCTION @fence_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = '@run_events'::regclass);
  tenant_table regclass;
  fired record;
BEGIN
  FOR tenant_table IN
    SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
    WHERE c.relnamespace = home AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.oid <> '@run_quarantines'::regclass
      AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'fenced_insert')
  LOOP
    FOR fired IN SELECT * FROM (VALUES ('insert', 'NEW'), ('update', 'NEW'), ('delete', 'OLD')) AS v (event, rows) LOOP
      EXECUTE format(
        'CREATE TRIGGER fenced_%s AFTER %s ON %s REFERENCING %s TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION @refuse_fenced()',
        fired.event, fired.event, tenant_table, fired.rows);
    END LOOP;
  END LOOP;
END $$;

SELECT @fence_tables();

-- The directory. Every change increases the version in the same transaction and so waits for the change before it:
-- a process that has read a version has seen all changes up to it.
CREATE TABLE @placement_version (
  one       boolean PRIMARY KEY DEFAULT true CHECK (one),
  directory text    NOT NULL,
  version   bigint  NOT NULL
);
INSERT INTO @placement_version (directory, version) VALUES (gen_random_uuid()::text, 1);

-- The servers. An ordinal is never used again, because cursors of the feed contain it.
CREATE TABLE @placement_servers (
  ordinal integer PRIMARY KEY,
  name    text COLLATE "C" NOT NULL UNIQUE,
  -- Whether the tenants that the server had before are recorded in placements.
  adopted boolean NOT NULL DEFAULT false
);

-- The server of each tenant.
CREATE TABLE @placements (
  tenant  text COLLATE "C" PRIMARY KEY,
  server  integer NOT NULL REFERENCES @placement_servers,
  version bigint  NOT NULL
);
CREATE INDEX placements_by_version ON @placements (version);

-- Moves of tenants: copying, switching, switched (the old copy is being removed), done or undone.
CREATE TABLE @tenant_moves (
  no          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant      text COLLATE "C" NOT NULL,
  from_server integer NOT NULL REFERENCES @placement_servers,
  to_server   integer NOT NULL REFERENCES @placement_servers,
  phase       text    NOT NULL,
  -- The process that is moving the tenant, and until when no other process may.
  mover       text    NOT NULL,
  mover_until bigint  NOT NULL,
  from_end    text,
  to_start    text,
  started_at  bigint  NOT NULL,
  version     bigint  NOT NULL
);
CREATE UNIQUE INDEX tenant_moves_open ON @tenant_moves (tenant) WHERE phase IN ('copying', 'switching', 'switched');
CREATE INDEX tenant_moves_by_version ON @tenant_moves (version);
