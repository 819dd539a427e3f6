/**
 * Row-level security as seen by the login: whether policies are in force, and whether it may use the operator's role.
 */
import type pg from 'pg';
import type { Dialect } from './sql.ts';

const ADMIN_ROLE = 'tidemark_admin';
const ROW_LEVEL_SECURITY = 1001;

export interface Confinement {
  /**
   * Whether policies are in force, even if this process did not enable them. If so, every transaction must list its
   * tenants.
   */
  rowLevelSecurity: boolean;
  /** The role for the operator's view; `null` without policies or if this login may not use it. */
  adminRole: string | null;
}

export async function confinementOf(client: pg.ClientBase, dialect: Dialect): Promise<Confinement> {
  const migrated = await client.query(dialect.script('SELECT 1 FROM @tidemark_migrations WHERE version = $1'), [
    ROW_LEVEL_SECURITY,
  ]);
  if (migrated.rows.length === 0) return { rowLevelSecurity: false, adminRole: null };
  const { rows } = await client.query(MAY_TAKE, [ADMIN_ROLE]);
  return { rowLevelSecurity: true, adminRole: rows.length > 0 ? ADMIN_ROLE : null };
}

/** Since PostgreSQL 16 a member may be denied SET ROLE. */
const MAY_TAKE = `
  SELECT 1 FROM pg_roles WHERE rolname = $1
    AND pg_has_role(current_user, oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`;
