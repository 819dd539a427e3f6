/** Creation of the tables where the emulator differs from DynamoDB. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { Client } from '../src/client.ts';
import { readSettings } from '../src/options.ts';
import { enableRecovery } from '../src/tables.ts';
import { type Reply, refused, startFaultProxy } from './fault-proxy.ts';
import { sharedServer, WITHOUT_DYNAMODB } from './servers.ts';

const NOT_YET = refused('ContinuousBackupsUnavailableException');
const ENABLED: Reply = {
  status: 200,
  body: { ContinuousBackupsDescription: { ContinuousBackupsStatus: 'ENABLED' } },
};

/** Returns a client and the number of its requests to enable recovery, which get these replies, the last one repeatedly. */
async function clientWith(replies: readonly Reply[]) {
  let requests = 0;
  const proxy = await startFaultProxy(sharedServer(), (operation) =>
    operation === 'UpdateContinuousBackups' ? replies[Math.min(requests++, replies.length - 1)]! : null,
  );
  const client = await Client.open(readSettings({ url: proxy.url }));
  onTestFinished(() => {
    client.close();
    return proxy.stop();
  });
  return { client, requests: () => requests };
}

describe.skipIf(WITHOUT_DYNAMODB)('Point-in-time recovery', () => {
  it('is enabled once DynamoDB allows it for a new table', async () => {
    const { client, requests } = await clientWith([NOT_YET, NOT_YET, ENABLED]);
    await enableRecovery(client, 'app-log', Date.now() + 60_000);
    expect(requests()).toBe(3);
  });

  it('may be enabled already', async () => {
    const { client, requests } = await clientWith([refused('ValidationException')]);
    await enableRecovery(client, 'app-log', Date.now() + 60_000);
    expect(requests()).toBe(1);
  });

  it('that stays unavailable fails with UNAVAILABLE, and a refusal with its reason', async () => {
    const late = await clientWith([NOT_YET]);
    await expect(enableRecovery(late.client, 'app-log', Date.now() - 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const { client, requests } = await clientWith([refused('AccessDeniedException')]);
    await expect(enableRecovery(client, 'app-log', Date.now() + 60_000)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining('credentials or the action'),
    });
    expect(requests()).toBe(1);
  });
});
