/** The role of the operator's view under row-level security. */
import type pg from 'pg';

export const ADMIN_ROLE = 'tidemark_admin';

/** The admin role, if this login may take it; without it the operator's view sees what its own policies allow. */
export async function adminRoleOf(pool: pg.Pool): Promise<string | null> {
  const { rows } = await pool.query(
    "SELECT 1 FROM pg_roles WHERE rolname = $1 AND pg_has_role(current_user, oid, 'MEMBER')",
    [ADMIN_ROLE],
  );
  return rows.length > 0 ? ADMIN_ROLE : null;
}
