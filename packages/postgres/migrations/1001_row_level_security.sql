-- Row-level security: a transaction can access only the tenants that it names in tidemark.tenants. Applied with the
-- option rowLevelSecurity. The roles belong to the cluster; logins become members of them.

-- Roles without login. If the migration may not create roles, the error names the statements an administrator must run.
DO $$
DECLARE
  missing text[] := ARRAY(
    SELECT wanted FROM unnest(ARRAY['tidemark_writer', 'tidemark_reader', 'tidemark_admin']) AS wanted
    WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted)
  );
  role text;
BEGIN
  FOREACH role IN ARRAY missing LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    EXCEPTION
      -- Another database of the cluster created it meanwhile.
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'row-level security needs roles that % may not create; let an administrator run: %', current_user,
          (SELECT string_agg(format('CREATE ROLE %I NOLOGIN;', it), ' ') FROM unnest(missing) AS it)
          USING ERRCODE = 'insufficient_privilege';
    END;
  END LOOP;
END $$;

-- The tenants of this transaction: a JSON array, set with SET LOCAL. Unset or empty means no tenants.
CREATE OR REPLACE FUNCTION @allowed_tenants() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT pg_catalog.json_array_elements_text(nullif(pg_catalog.current_setting('tidemark.tenants', true), '')::json))
$$;

-- Puts every table of the schema that has a tenant under the policy and grants the roles access. May be called again: a
-- later migration that adds a table ends with it. There are no default privileges, so that a forgotten table is closed
-- rather than open to all tenants. Partitions get no privileges: policies apply only through their parent.
CREATE OR REPLACE FUNCTION @confine_tenants() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = '@run_events'::regclass);
  tenant_table regclass;
BEGIN
  FOR tenant_table IN
    SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
    WHERE c.relnamespace = home AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', tenant_table);
    IF EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = tenant_table AND polname = 'tenants_of_transaction') THEN
      EXECUTE format('DROP POLICY tenants_of_transaction ON %s', tenant_table);
    END IF;
    -- Both subselects are evaluated once per statement. The role is compared by name, not by membership: a login that
    -- may take the admin role is confined until it does.
    EXECUTE format(
      'CREATE POLICY tenants_of_transaction ON %s USING (
         tenant_id = ANY ((SELECT @allowed_tenants())::text[]) OR (SELECT current_user = ''tidemark_admin''))',
      tenant_table);
    EXECUTE format('GRANT SELECT ON %s TO tidemark_reader', tenant_table);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO tidemark_writer, tidemark_admin', tenant_table);
  END LOOP;
  -- Append-only by privilege too: redactions go through redact_event, and the trigger allows whole runs to be deleted.
  REVOKE UPDATE ON @run_events FROM tidemark_writer, tidemark_admin;
  GRANT SELECT ON @feed_epochs, @tidemark_migrations TO tidemark_reader, tidemark_writer, tidemark_admin;
  GRANT INSERT ON @feed_epochs TO tidemark_admin;
  EXECUTE format('GRANT USAGE ON SCHEMA %s TO tidemark_reader, tidemark_writer, tidemark_admin', home);
  EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %s TO tidemark_reader, tidemark_writer, tidemark_admin', home);
  REVOKE EXECUTE ON FUNCTION @confine_tenants() FROM PUBLIC, tidemark_reader, tidemark_writer, tidemark_admin;
  EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %s TO tidemark_writer, tidemark_admin', home);
  EXECUTE format('GRANT SELECT ON ALL SEQUENCES IN SCHEMA %s TO tidemark_reader', home);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT USAGE, SELECT ON SEQUENCES TO tidemark_writer, tidemark_admin', home);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT SELECT ON SEQUENCES TO tidemark_reader', home);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT EXECUTE ON FUNCTIONS TO tidemark_reader, tidemark_writer, tidemark_admin', home);
END $$;

SELECT @confine_tenants();
