/** `tidemark tenants place`, `servers` and `move` on two PostgreSQL servers. */
import { open } from 'tidemark';
import { describe, expect, it, onTestFinished } from 'vitest';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { createPlaced } from '../../postgres/test/placed.ts';
import { tidemark } from './command-line.ts';

const url = offeredUrl('postgres');

describe.skipIf(!url)('the placement of tenants', () => {
  it('is shown and changed by commands', { timeout: 120_000 }, async () => {
    const { options, drop } = await createPlaced([url!, url!]);
    onTestFinished(drop);
    const { north } = options.servers as Record<string, string>;
    const placed = new URL(options.url);
    placed.searchParams.set('servers', `north=${north}`);
    const address = placed.href;
    const env = { TIDEMARK_STORE: address, TIDEMARK_TIMEOUT: '60s' };
    const typed = async (line: string) => {
      const { code, stdout, stderr } = await tidemark(line, { env });
      expect(code, `${line}: ${stderr}`).toBe(0);
      return stdout;
    };
    await using store = await open(address);

    await typed('tenants place acme main --dry-run');
    await typed('tenants place acme main');
    await store.forTenant('acme').runs.handle('order-1').append('RunStarted');
    expect(JSON.parse(await typed('tenants servers -o json'))).toMatchObject([{ tenantId: 'acme', server: 'main' }]);
    await typed('tenants move acme north --dry-run');
    expect(JSON.parse(await typed('tenants servers -o json'))).toMatchObject([{ tenantId: 'acme', server: 'main' }]);
    expect(JSON.parse(await typed('tenants move acme north -o json'))).toMatchObject({ tenantId: 'acme' });
    expect(JSON.parse(await typed('tenants servers -o json'))).toMatchObject([{ tenantId: 'acme', server: 'north' }]);
    await store.forTenant('acme').runs.handle('order-1').append('RunCompleted');
    expect(await store.forTenant('acme').runs.verify('order-1')).toMatchObject({ ok: true, events: 2 });
  });
});
