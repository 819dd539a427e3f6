/** Creates projects like those of a new user: an empty directory in which only the packed packages are installed. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Manifest, readManifest } from '../packages/manifests.ts';
import { type Packed, packAll } from '../packages/pack.ts';
import { ROOT, runQuietly } from '../processes.ts';

/** The packages that a user of the default engine, the command line and the server installs. */
const NEEDED = ['tidemark', '@tidemark/cli', '@tidemark/client', '@tidemark/core', '@tidemark/runtime'].concat(
  ...['@tidemark/server', '@tidemark/sql', '@tidemark/sqlite'],
);

const OURS = /^(@tidemark\/|tidemark$)/;

/** Programs started with this path run on the Node of this process. */
export const PATH_WITH_NODE = `${dirname(process.execPath)}:${process.env.PATH}`;

export interface Project {
  directory: string;
  remove(): void;
}

/** Builds and packs every published package. */
export async function buildAndPack(): Promise<{ packed: Packed[]; remove(): void }> {
  const built = await runQuietly(process.execPath, [join(ROOT, 'scripts/run.js'), 'build']);
  if (built.code !== 0) throw new Error(built.output);
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-packed-'));
  return { packed: packAll(directory), remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Returns the packages that a user of the default engine, the command line and the server installs. */
export function neededOf(packed: readonly Packed[]): Packed[] {
  return packed.filter(({ name }) => NEEDED.includes(name));
}

/** Installs packed packages. `offline` links other packages from this repository instead of downloading them. */
export function newProject(packed: readonly Packed[], { offline = false } = {}): Project {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-install-'));
  writeFileSync(join(directory, 'package.json'), '{ "private": true, "type": "module" }\n');
  if (offline) {
    for (const { name, tarball } of packed) {
      const target = join(directory, 'node_modules', name);
      mkdirSync(target, { recursive: true });
      execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    }
    for (const { name } of packed) {
      const { dependencies, peerDependencies } = readManifest(join(directory, 'node_modules', name));
      for (const needed of Object.keys({ ...dependencies, ...peerDependencies })) linkPackage(directory, needed, name);
    }
  } else {
    npmInstall(directory, [...packed.map(({ tarball }) => tarball), ...optionalPeersOf(packed)]);
  }
  writePrograms(directory);
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Returns the optional peers of packages that are not ours. npm installs only the required ones by itself. */
function optionalPeersOf(packed: readonly Packed[]): string[] {
  return packed.flatMap(({ tarball }) => {
    const text = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
    const { peerDependencies = {}, peerDependenciesMeta = {} } = JSON.parse(text) as Manifest;
    const optional = Object.entries(peerDependencies).filter(([name]) => peerDependenciesMeta[name]?.optional);
    return optional.filter(([name]) => !OURS.test(name)).map(([name, range]) => `${name}@${range}`);
  });
}

/** Links a package of this repository, in the version for one of our packages, into a project that lacks it. */
export function linkPackage(directory: string, name: string, user = 'tidemark'): void {
  const link = join(directory, 'node_modules', name);
  if (existsSync(link) || OURS.test(name)) return;
  mkdirSync(dirname(link), { recursive: true });
  const own = join(ROOT, 'node_modules', user, 'node_modules', name);
  symlinkSync(existsSync(own) ? own : join(ROOT, 'node_modules', name), link);
}

export function npmInstall(directory: string, packages: readonly string[]): void {
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages];
  execFileSync('npm', args, { cwd: directory, stdio: 'pipe', env: { ...process.env, PATH: PATH_WITH_NODE } });
}

/** Returns the program of the README and its documented output. */
export function tenLines(): { program: string; output: string } {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const block = (language: string) => readme.split(`\`\`\`${language}\n`)[1]!.split('```')[0]!;
  return { program: block('ts'), output: block('text') };
}

/** Writes and reads through a bundle of the client in each domain that all bundles have. */
const USE_BUNDLE = `
const [, , bundle, url] = process.argv;
await import(bundle);
const store = await open(url);
const order = store.runs.handle('order-' + crypto.randomUUID());
await order.append('RunStarted', { by: 'ada' });
await store.kv.put('user:1', { name: 'Ada' });
const { name } = (await store.kv.get('user:1')).fields;
await store.agents.saveMemoryState('chat', { turns: 1 });
const { turns } = await store.agents.loadMemoryState('chat');
const { id } = await store.artifacts.putText('receipt');
const bytes = await store.artifacts.get(id);
const text = (it) => new TextDecoder().decode(it);
console.log(await store.ping(), await order.headSeq(), text(name), turns, text(bytes));
await store.close();
`;

/** A handler that keeps its store open between calls, as functions of cloud providers do. */
const LAMBDA = `
import { open } from 'tidemark';
const store = open('sqlite:' + process.env.STORE);
export async function handler(event) {
  const order = (await store).runs.handle(event.order);
  await order.append(event.type);
  return { statusCode: 200, body: String(await order.headSeq()) };
}
`;

const INVOKE = `
const [, , bundle, folder] = process.argv;
process.env.STORE = folder + '/state.db';
const { handler } = await import(bundle);
const first = await handler({ order: 'order-42', type: 'RunStarted' });
const last = await handler({ order: 'order-42', type: 'RunCompleted' });
console.log(first.statusCode, first.body, last.statusCode, last.body);
`;

function writePrograms(directory: string): void {
  const { program } = tenLines();
  const body = program.replace(/^import .*\n/, '');
  writeFileSync(join(directory, 'ten.mjs'), program);
  writeFileSync(join(directory, 'any-engine.mjs'), program.replace('open()', 'open(process.env.STORE)'));
  writeFileSync(join(directory, 'use-bundle.mjs'), USE_BUNDLE);
  writeFileSync(join(directory, 'lambda.mjs'), LAMBDA);
  writeFileSync(join(directory, 'invoke.mjs'), INVOKE);
  writeFileSync(join(directory, 'ten.ts'), program);
  writeFileSync(join(directory, 'ten.cjs'), `const { open } = require('tidemark');\n(async () => {\n${body}})();\n`);
  writeFileSync(
    join(directory, 'browser.js'),
    "import { httpStore } from '@tidemark/client';\nglobalThis.open = httpStore;\n",
  );
  writeFileSync(
    join(directory, 'slim.js'),
    [
      "import { agents, artifacts, kv, runs, slimStore } from '@tidemark/client/slim';",
      'globalThis.open = (url) => slimStore(url, { runs, kv, agents, artifacts });\n',
    ].join('\n'),
  );
}
