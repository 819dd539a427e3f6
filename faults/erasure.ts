/**
 * Kills the erasure of a tenant after steps of every part and in the middle of the next, again and again. Calling it
 * again must finish the rest, no data of the tenant may remain, and the other tenant must stay complete.
 * `--crashes 100 --seed N --url redis://…`; without `--url` on a SQLite file, whose tables and files are checked too.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { type Store, TENANT_PARTS } from '@tidemark/core';
import { open } from 'tidemark';
import { WriterProcess } from './children.ts';
import { newSeed, Random } from './random.ts';
import { contentsOf, fillTenant } from './tenant-contents.ts';

const { values } = parseArgs({
  options: {
    crashes: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
    url: { type: 'string' },
  },
});

const NEIGHBOUR = 'neighbour';
const POINTS = ['start', ...TENANT_PARTS];
const MAX_DELAY_MS = 12;
const [RUNS, EVENTS_PER_RUN] = [12, 60];

const random = new Random(Number(values.seed));

/** Runs a child until it kills itself. Returns whether it did. */
async function eraseOnce(url: string, tenantId: string, folder: string): Promise<boolean> {
  const part = random.pick(POINTS);
  const delay = String(random.between(0, MAX_DELAY_MS));
  const args = ['--url', url, '--tenant', tenantId, '--part', part, '--delay', delay];
  const child = new WriterProcess('erasure-child', args, join(folder, 'notes'));
  const code = await child.end();
  if (code !== null && code !== 0) throw new Error(`The child failed with ${code}: ${child.errors}`);
  return code === null;
}

/** Returns the remaining data of an erased tenant. */
async function leftOf(store: Store, tenantId: string, path: string | null): Promise<string[]> {
  const { runs, sessions, ofSessions, keys, pauses, untraced } = await contentsOf(store, tenantId);
  const left: string[] =
    JSON.stringify([runs, sessions, ofSessions, keys, pauses, untraced]).match(/[1-9]\d*|trace|run-/g) ?? [];
  const { items } = await store.admin.listTenants({ limit: 1_000 });
  if (items.includes(tenantId)) left.push('it is listed');
  return [...left, ...(path === null ? [] : rowsOf(path, tenantId))].map((it) => `${tenantId}: ${it}`);
}

function rowsOf(path: string, tenantId: string): string[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[];
  const found = tables.filter(({ name }) => {
    const rows = database.prepare(`SELECT * FROM "${name}"`).all();
    return rows.some((row) => Object.values(row).includes(tenantId));
  });
  database.close();
  return found.map(({ name }) => `rows of ${name}`);
}

/** Counts files with bytes. The next sweep removes those left by a crash. */
function filesOf(path: string): number {
  const names = readdirSync(`${path}-artifacts`, { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('staging')).length;
}

async function crashRepeatedly(wanted: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-erasure-'));
  const path = values.url === undefined ? join(folder, 'store.db') : null;
  const url = values.url ?? `sqlite:${path}`;
  const store = await open(url, { timeoutMs: 15_000 });
  const problems: string[] = [];
  let [crashes, erasures] = [0, 0];
  try {
    await store.admin.eraseTenant(NEIGHBOUR);
    await fillTenant(store, NEIGHBOUR);
    const whole = JSON.stringify(await contentsOf(store, NEIGHBOUR));
    const files = path && filesOf(path);
    for (; crashes < wanted; erasures++) {
      const tenantId = `doomed-${values.seed}-${erasures}`;
      await fillTenant(store, tenantId, RUNS, EVENTS_PER_RUN);
      while (await eraseOnce(url, tenantId, folder)) {
        crashes++;
        if (JSON.stringify(await contentsOf(store, NEIGHBOUR)) !== whole) problems.push(`${NEIGHBOUR} was harmed`);
        if (crashes % 10 === 0) console.error(`erasure: ${erasures + 1} tenants, ${crashes} crashes`);
      }
      problems.push(...(await leftOf(store, tenantId, path)));
      if (path && filesOf(path) !== files) problems.push(`${tenantId}: files are left`);
    }
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
  console.log(`erasure: ${erasures} tenants, ${crashes} crashes, ${problems.length} problems`);
  return problems;
}

console.error(`erasure: seed ${values.seed}`);
const problems = await crashRepeatedly(Number(values.crashes));
for (const problem of problems.slice(0, 20)) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
