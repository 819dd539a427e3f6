/** The same commands on each available server, with the same results. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { tidemark } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';

let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
afterAll(() => sample.remove());

describe.each(['postgres', 'redis', 'nats', 'dynamodb'] as const)('on %s', (engine) => {
  const url = offeredUrl(engine);
  const env = { TIDEMARK_STORE: url ?? '', TIDEMARK_TENANT: randomUUID(), TIDEMARK_TIMEOUT: '20s' };
  const typed = async (line: string, exit = 0) => {
    const { code, stdout, stderr } = await tidemark(line, { env });
    expect(code, `${line}: ${stderr}`).toBe(exit);
    return stdout;
  };

  it.skipIf(!url)('appends, lists, claims, swaps, verifies and deletes', { timeout: 60_000 }, async () => {
    await typed('runs append order-1 --type RunStarted --key first');
    expect(JSON.parse(await typed('runs append order-1 --type RunStarted --key first'))).toMatchObject({
      persisted: false,
    });
    await typed('runs append order-1 --type RunCompleted --expect-seq 9', 5);
    await typed('runs append order-1 --type RunCompleted --expect-seq 1');
    expect(await typed('runs list -o id')).toBe('order-1\n');
    expect(JSON.parse(await typed('verify order-1'))).toMatchObject({ ok: true, events: 2 });
    await typed('kv put a x=1');
    await typed('kv cas a x 2 3', 5);
    await typed('kv cas a x 1 3');
    expect(await typed('kv get a x')).toBe('3');
    await typed('jobs add mail/1');
    await typed('jobs claim mail --worker w --claim c');
    expect(JSON.parse(await typed('jobs complete mail/1 c'))).toMatchObject({ state: 'completed' });
    await typed('runs delete order-1 --yes');
    await typed('runs show order-1', 3);
  });

  it.skipIf(!url)('separates stores by the schema or prefix in the URL', { timeout: 60_000 }, async () => {
    const name = `cli_${randomUUID().slice(0, 8)}`;
    const apart = `${url}${url?.includes('?') ? '&' : '?'}${engine === 'postgres' ? 'schema' : 'prefix'}=${name}`;
    await typed(`kv put here x=1 --store ${apart}`);
    expect(await typed(`kv get here x --store ${apart}`)).toBe('1');
    await typed('kv get here x', 3);
  });

  it.skipIf(!url)('receives a copy of a SQLite store', { timeout: 60_000 }, async () => {
    const source = {
      env: { TIDEMARK_STORE: `sqlite:${sample.directory}/.tidemark/state.db`, TIDEMARK_TENANT: 'acme' },
    };
    const { code, stdout, stderr } = await tidemark(['copy', url!, '--part', 'runs'], source);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ part: 'runs', differing: 0 });
    const copied = await tidemark('verify etl-1', { env: { ...env, TIDEMARK_TENANT: 'acme' } });
    expect(JSON.parse(copied.stdout)).toMatchObject({ ok: true, events: 1 });
  });
});

describe('migrate status', () => {
  const url = offeredUrl('postgres');

  it.skipIf(!url)(
    'lists the migrations of a PostgreSQL schema without applying them',
    { timeout: 60_000 },
    async () => {
      const schema = `cli_${randomUUID().slice(0, 8)}`;
      const env = { TIDEMARK_STORE: `${url}?schema=${schema}` };
      const states = async (exit: number) => {
        const { code, stdout, stderr } = await tidemark('migrate status', { env });
        expect(code, stderr).toBe(exit);
        return stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { name: string; appliedAt: string | null });
      };
      for (let twice = 0; twice < 2; twice++)
        expect((await states(6)).every(({ appliedAt }) => appliedAt === null)).toBe(true);
      expect((await tidemark('migrate up', { env })).code).toBe(0);
      const applied = await states(0);
      expect(applied[0]!.name).toBe('runs');
      for (const { appliedAt } of applied) expect(appliedAt).toMatch(/^\d{4}-.+Z$/);
    },
  );
});
