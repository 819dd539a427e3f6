/** `tenants`: lists tenants. */
import { defineCommand } from '../command.ts';
import { limitOption, upTo } from '../pages.ts';

const tenants = defineCommand({
  name: 'tenants',
  summary: 'List tenants that have data in the store',
  effect: 'ro',
  options: { limit: limitOption },
  examples: [{ line: 'tenants -o id', shows: 'acme' }],
  async run({ store, out, options }) {
    const { admin } = await store();
    const view = {
      columns: [{ title: 'TENANT', of: (tenantId: string) => tenantId }],
      id: (tenantId: string) => tenantId,
    };
    await out.list(
      upTo(options.limit, (page) => admin.listTenants(page), out),
      { ...view, json: (tenantId) => ({ tenantId }) },
      'There are no tenants.',
    );
  },
});

export const tenantCommands = [tenants];
