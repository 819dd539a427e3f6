/** Whose things are shown: records, jobs, sessions and artifacts belong to a tenant, and the address says which. */
import type { Page } from '@tidemark/core/portable';
import { ask } from '../live/http.ts';
import { useResource } from '../live/resource.ts';
import { storeInfo } from '../live/store-info.ts';
import { TextBox } from '../parts/text-box.tsx';
import { place, setQuery } from './router.ts';

/** The tenant where a call names none. */
export const DEFAULT_TENANT = 'default';
const MOST_TENANTS = 1_000;

/** `undefined`: the one of the key, or the default one. */
export function tenantInPlace(): string | undefined {
  return place.value.query.get('tenant') || undefined;
}

/** Tenants that have anything here; none where the key is for one tenant, or not for operators. */
export async function listTenants(limit: number, signal: AbortSignal): Promise<Page<string>> {
  const { tenantId } = await storeInfo();
  if (tenantId !== undefined) return { items: [] };
  return ask('GET /v1/admin/tenants', { query: { limit }, signal }).catch(() => ({ items: [] }));
}

export function TenantBox() {
  const tenants = useResource('tenants', (signal) => listTenants(MOST_TENANTS, signal));
  const chosen = tenantInPlace();
  const known = tenants.data.value?.items ?? [];
  if (known.length < 2 && chosen === undefined) return null;
  return (
    <label class="tenant-box">
      <span class="quiet">Tenant</span>
      <TextBox
        class={chosen === undefined ? undefined : 'set'}
        type="text"
        known={known}
        placeholder={DEFAULT_TENANT}
        value={chosen ?? ''}
        onText={(text) => setQuery({ tenant: text.trim() }, {})}
      />
    </label>
  );
}
