/** The short form of `npm run test:matrix -- install`: the packed packages on this Node, without the registry. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isolatedUrl } from '../pages/addresses.ts';
import { ROOT, toolPath } from '../processes.ts';
import { neededServers } from '../servers/index.ts';
import * as checks from './checks.ts';
import { importingProgram, importsEntries } from './entries.ts';
import { buildAndPack, linkPackage, neededOf, newProject, type Project, tenLines } from './project.ts';

const node = { title: 'this Node', program: process.execPath, args: [] };
const BROWSER_PROGRAMS = Object.keys(checks.BROWSER_LIMITS) as checks.BrowserProgram[];
let project: Project;
/** A project with every package. */
let whole: Project;

beforeAll(async () => {
  const { packed, remove } = await buildAndPack();
  project = newProject(neededOf(packed), { offline: true });
  whole = newProject(packed, { offline: true });
  remove();
  for (const { directory } of [project, whole]) {
    linkPackage(directory, '@types/node');
    linkPackage(directory, 'undici-types');
  }
}, 240_000);
afterAll(() => {
  project.remove();
  whole.remove();
});

describe('the packed packages in an empty project', () => {
  it('run the ten lines of the README', () => checks.runsTenLines(node, project.directory));
  it('can be required', () => checks.runsRequire(node, project.directory));
  it('include the command', () => checks.runsCommand(node, project.directory));
  it('include the server and the inspector', () => checks.runsServer(node, project.directory));
  it('compile', () => checks.compiles(toolPath('typescript', 'tsc'), project.directory));
  it('work as a single file in another folder', () => checks.runsBundle(node, project.directory));
  it('work as a single-file function', () => checks.runsLambda(node, project.directory));
  it('work in a Vite build for a server', () => checks.runsViteSsr(node, project.directory));
  it.each(BROWSER_PROGRAMS)('work as a small browser bundle of %s', async (program) => {
    // A much smaller bundle would mean that something is missing.
    expect(await checks.browserBytes(node, project.directory, program)).toBeGreaterThan(10 * 1024);
  });
});

describe('all packed packages in an empty project', () => {
  it('export at every entry point what their sources export', async () => {
    expect(await importsEntries(node, whole.directory)).toBeGreaterThan(18);
  });

  it('compile at every entry point', async () => {
    writeFileSync(join(whole.directory, 'entries.ts'), importingProgram());
    await checks.compiles(toolPath('typescript', 'tsc'), whole.directory, 'entries.ts');
  });

  it('reach every engine from a single file', () =>
    checks.runsDrivers(node, whole.directory, ['sqlite:any.db', ...neededServers().map(isolatedUrl)]));
});

describe('this repository after a build', () => {
  it('runs the ten lines of the README', async () => {
    const cache = join(ROOT, 'node_modules/.cache');
    mkdirSync(cache, { recursive: true });
    const directory = mkdtempSync(join(cache, 'tidemark-clone-'));
    writeFileSync(join(directory, 'ten.mjs'), tenLines().program);
    await checks.runsTenLines(node, directory);
    rmSync(directory, { recursive: true });
  });
});
