/** The dashboard, the alert rules and the pages of the documentation name metrics and labels that a server exposes. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryStore } from '@tidemark/core';
import { ApiKeys, bearer, createServer } from '@tidemark/server';
import { beforeAll, describe, expect, it } from 'vitest';

const DOCS = join(import.meta.dirname, '../../../docs');
const read = (path: string) => readFileSync(join(DOCS, path), 'utf8');
/** Labels that Prometheus and Grafana add. */
const ADDED_LABELS = ['instance', 'job', 'le'];
/** Pages that may name metrics. */
const PAGES = globSync('**/*.md', { cwd: DOCS }).filter((path) => !path.startsWith('api/'));

/** The labels of each metric, by name. */
let exposed: Map<string, Set<string>>;
beforeAll(async () => {
  const store = memoryStore();
  const keys = new ApiKeys(store);
  const limits = { tenant: { requestsPerSecond: 1 } };
  const logger = { info() {}, error() {} };
  const server = createServer({ store, auth: bearer({ keys }), loops: true, limits, logger, inspector: false });
  const url = await server.listen();
  const get = (path: string, key: string) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  try {
    const operator = await keys.create({ name: 'metrics', tenantId: null, scopes: ['metrics:read'] }, { by: 'a test' });
    const tenant = await keys.create({ name: 'reader', tenantId: 'acme', scopes: ['read'] }, { by: 'a test' });
    const page = async () => (await get('/metrics', operator.key)).text();
    // Causes an alert, a security event and a refusal by a limit, because these metrics appear only after the first
    // occurrence.
    const run = store.runs.handle('order-42');
    await run.append('RunStarted');
    await run.append('RunResumed');
    await get('/v1/runs', 'wrong');
    await until(async () => (await get('/v1/ping', tenant.key)).status === 429);
    await until(async () => (await page()).includes('tidemark_alerts_total{'));
    exposed = labelsByName(await page());
  } finally {
    await server.close();
    await store.close();
  }
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

function labelsByName(page: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name, labels = ''] of page.matchAll(/^(tidemark_\w+)(?:\{(.*)\})? /gm)) {
    const known = found.get(name!) ?? new Set();
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!);
    found.set(name!, known);
  }
  return found;
}

/** Returns what an expression of PromQL names that a server does not expose. */
function missingIn(expression: string): string[] {
  const names = [...expression.matchAll(/tidemark_\w+/g)].map(([name]) => name);
  const labels = [
    ...[...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside]) => inside!.match(/\w+(?==|!)/g) ?? []),
    ...[...expression.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, inside]) => inside!.match(/\w+/g) ?? []),
  ];
  const known = new Set([...ADDED_LABELS, ...names.flatMap((name) => [...(exposed.get(name) ?? [])])]);
  return [...names.filter((name) => !exposed.has(name)), ...labels.filter((label) => !known.has(label))];
}

describe('the dashboard', () => {
  interface Panel {
    title: string;
    targets?: { expr: string }[];
  }
  const { panels } = JSON.parse(read('operations/grafana-dashboard.json')) as { panels: Panel[] };
  const expressions = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));

  it.each(expressions)('%s: %s', (_, expression) => {
    expect(expression).toContain('tidemark_');
    expect(missingIn(expression)).toEqual([]);
  });

  it('shows every metric', () => {
    const shown = new Set(expressions.flatMap(([, expression]) => expression.match(/tidemark_\w+/g)));
    expect([...exposed.keys()].filter((name) => !shown.has(name))).toEqual([]);
  });
});

describe('the alert rules', () => {
  const rules = read('operations/prometheus-rules.yml')
    .split(/^ +- alert: /m)
    .slice(1);
  const parts = rules.map((rule) => {
    const [name = ''] = rule.split('\n', 1);
    const expression = /expr: (?:>-\n)?([\s\S]*?)\n +(?:for|labels):/.exec(rule)?.[1] ?? '';
    return { name, expression, rule };
  });

  it.each(parts.map(({ name, expression }) => [name, expression]))('%s: %s', (_, expression) => {
    expect(expression).not.toBe('');
    expect(missingIn(expression!)).toEqual([]);
  });

  it.each(parts.map(({ name, rule }) => [name, rule]))('%s has a severity, a summary and a page', (_, rule) => {
    expect(rule).toMatch(/severity: (?:page|ticket)/);
    expect(rule).toContain('summary: ');
    const [, page, anchor] = /runbook: docs\/(\S+)#(\S+)/.exec(rule!)!;
    const anchors = [...read(page!).matchAll(/^## (.*)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replaceAll(/[^a-z ]/g, '')
        .replaceAll(' ', '-'),
    );
    expect(anchors).toContain(anchor);
  });

  it('are the metrics of the page', () => {
    const listed = [...read('operations/monitoring.md').matchAll(/^\| `(Tidemark\w+)` .* \| (\w+) \|$/gm)];
    const severities = parts.map(({ name, rule }) => [name, /severity: (\w+)/.exec(rule)?.[1]]);
    expect(listed.map(([, name, severity]) => [name, severity])).toEqual(severities);
  });
});

describe('pages', () => {
  it('name only metrics that exist', () => {
    for (const path of PAGES) {
      const named = read(path).match(/tidemark_[a-z_]+_(?:total|seconds|bytes|runs|shards|letters|streams|level)\b/g);
      for (const name of named ?? [])
        expect(
          [...exposed.keys()].some((it) => it.startsWith(name)),
          `${path}: ${name}`,
        ).toBe(true);
    }
  });

  it('describe every metric', () => {
    const table = read('monitoring.md');
    const plain = [...exposed.keys()].map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
    expect(plain.filter((name) => !table.includes(`\`${name}`))).toEqual([]);
  });
});
