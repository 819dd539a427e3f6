/** Archives over HTTP: no key reads a run of another tenant through a location, and only admins see locations. */
import { join } from 'node:path';
import type { RunEventInput } from '@tidemark/core';
import { createArchiver, directoryTarget, withArchive } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newFolder, runEvent, send } from './running.ts';
import { type Secured, startSecured } from './security-setup.ts';

const SECRET = 'known to acme only';

/** An event of a tenant. */
function eventOf(tenantId: string, runId: string, note = 'harmless'): RunEventInput {
  return { ...runEvent(runId, undefined, { note }), tenantId };
}

/** Starts a server that reads through to an archive with a run of acme. */
async function startArchiving(): Promise<Secured & { location: string }> {
  const folder = newFolder();
  const plain = await sqliteStore(join(folder, 'store.db'));
  onTestFinished(() => plain.close());
  const archiver = createArchiver({ store: plain, target: directoryTarget(join(folder, 'archive')) });
  await plain.runs.appendEvent(eventOf('acme', 'order', SECRET));
  await archiver.archiveRun('order', { tenantId: 'acme' });
  const location = (await plain.runs.archiveLocation('order', { tenantId: 'acme' }))!;
  return { ...(await startSecured({ store: withArchive(plain, archiver) })), store: plain, location };
}

describe('a location of another tenant', () => {
  it('does not expose its run to anyone else', async () => {
    const { url, keyFor, location } = await startArchiving();
    const evil = await keyFor({ tenantId: 'evil', scopes: ['admin'] });
    const operator = await keyFor();
    for (const runId of ['order', 'mine']) {
      await send(`${url}/v1/runs/${runId}/events`, 'POST', eventOf('evil', runId), evil);
      const archived = await send(`${url}/v1/runs/${runId}/archive`, 'POST', { location, expectedSeq: 1 }, evil);
      expect(await archived.json()).toEqual({ archived: true });
      for (const path of ['events', 'events/1', 'export', 'snapshot', 'verify'])
        for (const headers of [evil, { ...operator, 'tidemark-tenant': 'evil' }]) {
          const answer = await fetch(`${url}/v1/runs/${runId}/${path}`, { headers });
          const text = await answer.text();
          expect(text, `${runId}/${path}`).not.toContain(SECRET);
          expect(text, `${runId}/${path}`).not.toContain('"eventId"');
        }
    }
    const own = await fetch(`${url}/v1/runs/order/events`, { headers: await keyFor({ tenantId: 'acme' }) });
    expect(await own.text()).toContain(SECRET);
  });
});

describe('the location of a run', () => {
  it('is shown to admins, and to no other caller', async () => {
    const { url, keyFor, location, store } = await startArchiving();
    // Archived elsewhere, so that reads fail with the location for callers that may see it.
    const elsewhere = 'file:///srv/archive/acme/7';
    await store.runs.appendEvent(eventOf('acme', 'gone'));
    await store.runs.archiveRun('gone', { tenantId: 'acme', location: elsewhere, expectedSeq: 1 });
    const keys = {
      read: await keyFor({ tenantId: 'acme', scopes: ['read'] }),
      append: await keyFor({ tenantId: 'acme', scopes: ['read', 'append'] }),
      admin: await keyFor({ tenantId: 'acme', scopes: ['admin'] }),
    };
    const event = eventOf('acme', 'gone');
    const lines = { 'content-type': 'application/x-ndjson' };
    const requests: Record<string, (headers: Record<string, string>) => Promise<Response>> = {
      events: (headers) => fetch(`${url}/v1/runs/gone/events`, { headers }),
      snapshot: (headers) => fetch(`${url}/v1/runs/gone/snapshot`, { headers }),
      run: (headers) => fetch(`${url}/v1/runs/gone`, { headers }),
      verify: (headers) => fetch(`${url}/v1/runs/gone/verify`, { headers }),
      archive: (headers) => fetch(`${url}/v1/runs/gone/archive`, { headers }),
      list: (headers) => fetch(`${url}/v1/runs`, { headers }),
      live: (headers) => fetch(`${url}/v1/runs/gone/events`, { headers: { ...headers, accept: 'text/event-stream' } }),
      append: (headers) => send(`${url}/v1/runs/gone/events`, 'POST', event, headers),
      several: (headers) => send(`${url}/v1/events`, 'POST', [event], headers),
      lines: (headers) => send(`${url}/v1/events`, 'POST', `${JSON.stringify(event)}\n`, { ...headers, ...lines }),
    };
    const shown = { read: 0, append: 0, admin: 0 };
    for (const [role, headers] of Object.entries(keys))
      for (const request of Object.values(requests)) {
        const text = await (await request(headers)).text();
        if (text.includes(elsewhere) || text.includes(location)) shown[role as keyof typeof shown]++;
      }
    expect(shown.read).toBe(0);
    expect(shown.append).toBe(0);
    expect(shown.admin, 'an admin can find the archive').toBeGreaterThan(4);
  });
});
