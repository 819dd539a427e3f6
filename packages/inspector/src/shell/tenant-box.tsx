/** The tenant filter. Records, jobs, sessions and artifacts belong to the tenant in the address. */
import type { Page } from '@tidemark/core/portable';
import { ask } from '../live/http.ts';
import { useResource } from '../live/resource.ts';
import { storeInfo } from '../live/store-info.ts';
import { TextBox } from '../parts/text-box.tsx';
import { route, setQuery } from './router.ts';

/** The tenant of calls that do not name one. */
export const DEFAULT_TENANT = 'default';
const MAX_TENANTS = 1_000;

/** The tenant in the address; `undefined` for the tenant of the key, or the default tenant. */
export function currentTenant(): string | undefined {
  return route.value.query.get('tenant') || undefined;
}

/** Lists tenants with data. The list is empty if the key is not an operator's key. */
export async function listTenants(limit: number, signal: AbortSignal): Promise<Page<string>> {
  const { tenantId } = await storeInfo();
  if (tenantId !== undefined) return { items: [] };
  return ask('GET /v1/admin/tenants', { query: { limit }, signal }).catch(() => ({ items: [] }));
}

export function TenantBox() {
  const tenants = useResource('tenants', (signal) => listTenants(MAX_TENANTS, signal));
  const chosen = currentTenant();
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
