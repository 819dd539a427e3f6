/** Doctor checks of tenant isolation: the policies, and whether they apply to the login. */
import { all, type ExaminedServer, type Finding, ok, one } from './examined-server.ts';

export async function rowLevelSecurity(server: ExaminedServer): Promise<Finding> {
  const tables = await all(
    server,
    `SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced, c.relrowsecurity AS enabled,
       pg_get_userbyid(c.relowner) AS owner, pg_has_role(current_user, c.relowner, 'USAGE') AS owned
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
     WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname`,
    [`"${server.schema}"`],
  );
  if (!tables.some(({ enabled }) => enabled)) return ok('off: the store keeps tenants apart, the server does not');
  const open = tables.filter(({ forced }) => !forced).map(({ name }) => name);
  if (open.length > 0) {
    return {
      status: 'fail',
      message: `Not on and forced for ${open.join(', ')}: tenants are not kept apart there`,
      fix: `SELECT ${server.schema}.confine_tenants(), as the owner of the tables`,
    };
  }
  const owned = tables.find((table) => table.owned);
  if (!owned) return ok('on and forced for every table that has tenants');
  return {
    status: 'warn',
    message: `On and forced, but this login is or inherits ${owned.owner}, who owns the tables and could lift it`,
    fix: 'Run migrations as the owner, and the store (migrate: false) as another login that is a member of tidemark_writer and tidemark_admin',
  };
}

export async function loginRole(server: ExaminedServer): Promise<Finding> {
  const { name, rolsuper, rolbypassrls } = await one(
    server,
    'SELECT rolname AS name, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user',
  );
  if (!rolsuper && !rolbypassrls) return ok(`${name} is bound by privileges and policies`);
  const { enabled } = await one(
    server,
    'SELECT coalesce(bool_or(relrowsecurity), false) AS enabled FROM pg_class WHERE relnamespace = $1::regnamespace',
    [`"${server.schema}"`],
  );
  return {
    status: enabled ? 'fail' : 'warn',
    message: `${name} ${rolsuper ? 'is a superuser' : 'has BYPASSRLS'}: ${enabled ? 'row-level security does not hold for it' : 'nothing on the server is closed to it'}`,
    fix: 'Connect with a separate login, NOSUPERUSER NOBYPASSRLS',
  };
}
