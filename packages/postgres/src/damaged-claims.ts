/** Returns a job to the queue after its claim has found that it is damaged. It stays damaged, where `doctor` finds it. */
import { indexKeysOf } from '@tidemark/core/engine';
import { recordStart, recordSum, requestsColumn } from '@tidemark/sql';
import type { Database } from './database.ts';
import { translateWrite } from './errors.ts';
import type { DamagedClaim } from './job-step-outcomes.ts';

/** Restores the rows as they were before the claim, unless another writer has changed the job. */
const GIVE_BACK = `
  WITH back AS (
    UPDATE @kv_records SET revision = nextval('@kv_revision'), requests = $4, sum = $5
    WHERE tenant_id = $1 AND key = $2 AND revision = $3
    RETURNING tenant_id, key
  ),
  fields AS (
    INSERT INTO @kv_fields (tenant_id, key, field, value, sum)
    SELECT b.tenant_id, b.key, i.* FROM back b CROSS JOIN unnest($6::text[], $7::bytea[], $8::int4[]) AS i
    ON CONFLICT (tenant_id, key, field) DO UPDATE SET value = excluded.value, sum = excluded.sum
  ),
  fields_gone AS (
    DELETE FROM @kv_fields f USING back b
    WHERE f.tenant_id = b.tenant_id AND f.key = b.key AND NOT f.field = ANY ($6::text[])
  ),
  places_gone AS (
    DELETE FROM @kv_places p USING back b WHERE p.tenant_id = b.tenant_id AND p.key = b.key
  ),
  places AS (
    INSERT INTO @kv_places (tenant_id, place, key)
    SELECT b.tenant_id, i.place, b.key FROM back b CROSS JOIN unnest($9::text[]) AS i (place)
  )
  SELECT set_config('synchronous_commit', 'on', true)`;

export async function giveBack(database: Database, { name, revision, before, requests }: DamagedClaim): Promise<void> {
  const { tenantId, key } = name;
  const fields = new Map(before.map(({ field, value }) => [field, value]));
  const state = { fields, revision: 0, expiresAt: null };
  // Differs from the sum of the rows for any new revision, and so does every sum that a claim could compute.
  const sum = recordSum(recordStart(tenantId, key), state) | 0;
  const values = [tenantId, key, revision, requestsColumn(requests), sum];
  const columns = [
    before.map(({ field }) => field),
    before.map(({ value }) => value),
    before.map((row) => row.sum),
    indexKeysOf(key, fields),
  ];
  await database.statement(GIVE_BACK, [...values, ...columns], [tenantId]).catch((error: unknown) => {
    throw translateWrite(error);
  });
}
