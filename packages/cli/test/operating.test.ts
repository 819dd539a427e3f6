/** Operating a store: damage is found, imports can be repeated, interrupts end long commands, unusual ids work. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createServer } from '@tidemark/server';
import { open } from 'tidemark';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';

const home = process.cwd();
let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
beforeEach(() => process.chdir(sample.copy()));
afterEach(() => process.chdir(home));
afterAll(() => sample.remove());

/** Changes the file directly, as a failing disk or a database tool would. */
function alter(sql: string): void {
  const database = new DatabaseSync('.tidemark/state.db');
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
  database.exec(sql);
  database.close();
}

describe('verify', () => {
  it('finds an altered event, names it and exits with 6', async () => {
    alter(`UPDATE run_events SET payload = '{"cents":1}' WHERE run_seq = 2 AND payload LIKE '%1299%'`);
    const one = await tidemark('verify order-42');
    expect(one.code).toBe(6);
    expect(JSON.parse(one.stdout)).toMatchObject({ runId: 'order-42', ok: false, problem: { runSeq: 2 } });
    const all = await tidemark('verify --all');
    expect(all.code).toBe(6);
    expect(all.stdout.trim().split('\n')).toHaveLength(1);
    expect(all.stderr).toContain('1 with a problem');
    expect((await tidemark('verify order-7')).code).toBe(0);
  });

  it('quarantines damaged runs, and releases a run only after repair', async () => {
    const where = `WHERE run_seq = 2 AND payload LIKE '%1299%'`;
    alter(`CREATE TABLE before_damage AS SELECT * FROM run_events ${where}`);
    alter(`UPDATE run_events SET payload = '{"cents":1}' ${where}`);
    await tidemark('verify order-42');
    const listed = await tidemark('quarantine list');
    expect(JSON.parse(listed.stdout)).toMatchObject({ runId: 'order-42', fromSeq: 2, state: 'quarantined' });
    const refused = await tidemark('quarantine release --all');
    expect([refused.code, JSON.parse(refused.stdout).runId]).toEqual([6, 'order-42']);
    expect((await tidemark('quarantine release order-42')).stderr).toContain('CORRUPT_EVENT');
    expect((await tidemark('doctor')).stdout).toContain('quarantine');
    alter(
      `UPDATE run_events SET payload = (SELECT payload FROM before_damage) WHERE event_id = (SELECT event_id FROM before_damage)`,
    );
    const released = await tidemark('quarantine release order-42');
    expect(JSON.parse(released.stdout)).toMatchObject({ state: 'released', release: 2 });
    expect((await tidemark('quarantine list')).stdout).toBe('');
  });

  it('requires either a run or --all', async () => {
    expect((await tidemark('verify')).code).toBe(2);
    expect((await tidemark('verify order-42 --all')).code).toBe(2);
  });

  it('ends when interrupted', async () => {
    expect(await tidemark('verify --all', { signal: AbortSignal.abort() })).toMatchObject({ code: 130, stdout: '' });
  });
});

describe('export and import', () => {
  const importInto = async (name: string) => {
    const { code, stdout, stderr } = await tidemark(`runs import all.jsonl --store sqlite:${name}`);
    expect(code, stderr).toBe(0);
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  it('transfer several runs with their hash chains, and a second import changes nothing', async () => {
    writeFileSync('all.jsonl', (await tidemark('runs export order-42 order-7 etl-1')).stdout);
    expect((await importInto('copy.db')).map(({ runId, restored }) => [runId, restored])).toEqual([
      ['order-42', true],
      ['order-7', true],
      ['etl-1', true],
    ]);
    expect((await importInto('copy.db')).every(({ restored }) => restored === false)).toBe(true);
    const heads = async (store: string) => JSON.parse((await tidemark(`verify order-42 --store ${store}`)).stdout).head;
    expect(await heads('sqlite:copy.db')).toBe(await heads('sqlite:.tidemark/state.db'));
  });

  it('reject an altered file and write nothing of that run', async () => {
    writeFileSync('all.jsonl', readFileSync('exported.jsonl', 'utf8').replace('1299', '1298'));
    const { code } = await tidemark('runs import all.jsonl --store sqlite:copy.db');
    expect(code).not.toBe(0);
    expect((await tidemark('runs list --store sqlite:copy.db')).stdout).toBe('');
  });

  it('name the invalid line', async () => {
    writeFileSync('all.jsonl', `${readFileSync('exported.jsonl', 'utf8')}{"a":1}\n`);
    const { code, stderr } = await tidemark('runs import all.jsonl --store sqlite:copy.db');
    expect(code).toBe(2);
    expect(stderr).toContain('all.jsonl:2');
  });

  it('do not overwrite an existing file', async () => {
    expect((await tidemark('runs export order-42 --to notes.txt')).code).toBe(2);
    expect(readFileSync('notes.txt', 'utf8')).toBe('Remember the milk.\n');
  });

  it('leave no file behind when a run does not exist', async () => {
    expect((await tidemark('runs export order-42 nobody --to out.jsonl')).code).toBe(3);
    expect(readdirSync('.').filter((name) => name.startsWith('out'))).toEqual([]);
  });
});

describe('a pause', () => {
  it('is found by a prefix of its id only if the prefix is unique', async () => {
    const ids = (await tidemark('pauses list -o id')).stdout.trim().split('\n');
    expect(ids).toHaveLength(1);
    expect((await tidemark(['pauses', 'approve', ''])).code).toBe(0);
    await using store = await open('sqlite:.tidemark/state.db');
    await store.agents.savePlannerState('another', {}, { sessionId: 's', taskId: 't' });
    expect(await tidemark(['pauses', 'approve', ''])).toMatchObject({ code: 2, stdout: '' });
    expect((await tidemark(['pauses', 'approve', ids[0]!])).code).toBe(0);
    expect((await tidemark('pauses reject ffffffffffff')).code).toBe(3);
  });
});

describe('tables', () => {
  it('fit a narrow terminal: pauses with all columns, and sweeps by type instead of JSON', async () => {
    const terminal = { terminal: true, columns: 80, env: { NO_COLOR: '1' } };
    const pauses = await tidemark('pauses list', terminal);
    expect(pauses.stdout).toMatch(/^PAUSE +STATE +EXPIRES +SESSION +TASK +REASON\n/);
    const dry = await tidemark('sweep --dry-run --threshold 1ms', terminal);
    expect(dry.stdout).toMatch(/^JOB +STATE +WORKER +WHY +UPDATED\nemail-send\//);
    const swept = await tidemark('sweep --threshold 1ms', terminal);
    expect(swept.stdout).toMatch(/^TYPE +STUCK +REQUEUED .*\nemail-send +\d/);
    for (const { stdout } of [pauses, dry, swept])
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe('a token', () => {
  it('is read from the environment or a file; without it the exit code is 4', async () => {
    await using store = await open('sqlite:.tidemark/state.db');
    const server = createServer({
      store,
      logger: { info() {}, error() {} },
      auth: {
        loopbackOnly: true,
        authenticate: ({ headers }) =>
          headers.authorization === 'Bearer id.secret'
            ? { id: 'id', tenantId: null, scopes: ['read'] }
            : { refused: 'unknown', message: 'Who is there?' },
      },
    });
    const TIDEMARK_STORE = await server.listen();
    try {
      expect((await tidemark('runs list', { env: { TIDEMARK_STORE } })).code).toBe(4);
      expect((await tidemark('runs list', { env: { TIDEMARK_STORE, TIDEMARK_TOKEN: 'id.wrong' } })).code).toBe(4);
      expect((await tidemark('runs list', { env: { TIDEMARK_STORE, TIDEMARK_TOKEN: 'id.secret' } })).code).toBe(0);
      writeFileSync('token', 'id.secret\n');
      const env = { TIDEMARK_STORE, TIDEMARK_TOKEN_FILE: 'token' };
      expect((await tidemark('runs list', { env })).code).toBe(0);
      const refused = await tidemark('runs append order-42 --type Note', { env });
      expect(refused.code).toBe(4);
      expect(refused.stderr).not.toContain('secret');
    } finally {
      await server.close();
    }
  });
});

describe('the feed', () => {
  it('continues after a cursor, and follows', async () => {
    const first = JSON.parse((await tidemark('feed --limit 1')).stdout);
    const rest = (await tidemark(['feed', '--cursor', first.cursor])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rest.some(({ event }) => event.eventId === first.event.eventId)).toBe(false);
    const interrupted = new AbortController();
    const last = rest.at(-1);
    const ended = tidemark(['feed', '-f', '--cursor', rest.at(-2).cursor], {
      signal: interrupted.signal,
      onOutput: () => interrupted.abort(),
    });
    expect(await ended).toMatchObject({ code: 130, stdout: `${JSON.stringify(last)}\n` });
    expect((await ended).stderr).toContain(`--cursor ${last.cursor}`);
  });
});

describe('kv put --expected-revision', () => {
  it('replaces the whole record if it has that revision', async () => {
    const { revision } = JSON.parse((await tidemark('kv get config.limits')).stdout);
    const { code, stdout } = await tidemark(`kv put config.limits max=20 --expected-revision ${revision}`);
    expect(code).toBe(0);
    expect(JSON.parse((await tidemark('kv get config.limits')).stdout)).toEqual({
      key: 'config.limits',
      fields: { max: '20' },
      revision: JSON.parse(stdout).revision,
    });
    expect((await tidemark(`kv put config.limits max=30 --expected-revision ${revision}`)).code).toBe(5);
  });
});

describe('arguments', () => {
  it('accept global options before the group and after the command', async () => {
    const after = await tidemark('runs list -o id --tenant acme');
    expect(after.stdout).toBe('etl-1\n');
    expect(await tidemark('--tenant acme -o id runs list')).toEqual(after);
    expect(await tidemark('run list --tenant acme --output id')).toEqual(after);
  });

  it('accept unusual ids', async () => {
    const ids = ['--version', '-', '..', 'a b', "it's", '100%', 'x/y', '{}', '表', '\u001b[31m'];
    for (const id of ids) {
      expect((await tidemark(['runs', 'append', '--type', 'RunStarted', '--', id])).code, id).toBe(0);
      expect(JSON.parse((await tidemark(['runs', 'show', '--', id])).stdout).runId, id).toBe(id);
    }
  });
});

describe('completion', () => {
  const completed = async (...given: string[]) => {
    writeFileSync('completion.bash', (await tidemark('completion bash')).stdout);
    const script = `source ./completion.bash; COMP_WORDS=(${given.map((it) => `'${it}'`).join(' ')}); COMP_CWORD=${given.length - 1}; _tidemark; echo "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split(' ');
  };

  it('offers groups, commands and flags in bash', async () => {
    expect(await completed('tidemark', 'ses')).toEqual(['sessions']);
    expect(await completed('tidemark', 'runs', 'e')).toEqual(['events', 'export']);
    expect(await completed('tidemark', 'runs', 'delete', '--')).toEqual(
      expect.arrayContaining(['--dry-run', '--yes', '--store']),
    );
    expect(await completed('tidemark', 'sweep', '--th')).toEqual(['--threshold']);
  });
});

describe('errors', () => {
  it('state the problem, the reason and what to do next', async () => {
    const { stderr, stdout } = await tidemark('runs append order-42 --type Note --expect-seq 9');
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      /^error: .+\n( {2}field: .+\n {2}rule: .+\n)? {2}now: {3}3\n {2}why: {3}SEQ_CONFLICT: .+\n {2}next: {2}.+\n$/,
    );
  });

  it('show the field and the rule that the explanation mentions', async () => {
    const { stderr } = await tidemark('runs list --limit 0');
    expect(stderr).toContain('  field: --limit\n  rule:  an integer of at least 1\n');
    const many = await tidemark(['runs', 'append', 'r', '--type', 't'.repeat(600), '--step', 's'.repeat(600)]);
    expect(many.stderr.match(/^ {2}fault: (eventType|stepId): /gm)).toHaveLength(2);
  });

  it('name a missing file, and do not speak of ids and tenants', async () => {
    for (const line of [
      'runs list --store sqlite:nowhere.db',
      'backup copy.db --store sqlite:nowhere.db',
      'runs append order-42 --type Note --data @nowhere.json',
      'artifacts put nowhere.txt',
      'runs list --context nowhere',
      'runs list --store-file nowhere',
    ]) {
      const { code, stderr } = await tidemark(line);
      expect(code, line).toBe(3);
      expect(stderr, line).toContain('nowhere');
      expect(stderr, line).not.toMatch(/tenant|the id/);
    }
    const { stderr } = await tidemark('runs list --store sqlite:nowhere.db');
    expect(stderr).toContain('The database file nowhere.db does not exist (from --store)');
  });

  it('name the file, without a stack trace', async () => {
    for (const line of [
      'runs import nowhere.jsonl',
      'runs export order-42 --to nowhere/file',
      'retention plan --policies nowhere.json',
    ]) {
      const { code, stderr } = await tidemark(line);
      expect(code, line).not.toBe(0);
      expect(stderr, line).toContain('nowhere');
      expect(stderr, line).not.toMatch(/bug in tidemark|\n +at /);
    }
  });

  it('report an unreachable server with exit code 7', async () => {
    const { code, stderr } = await tidemark('runs list --store http://127.0.0.1:9');
    expect(code).toBe(7);
    expect(stderr).toMatch(/http:\/\/127\.0\.0\.1:9 .*(bad port|ECONNREFUSED)/);
    expect((await tidemark('runs list --store postgres://127.0.0.1:1/x')).code).toBe(7);
  });
});
