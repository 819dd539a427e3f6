/** The short form of `npm run test:matrix -- install`: the packed packages on this Node, without the registry. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolPath } from '../processes.ts';
import * as checks from './checks.ts';
import { linkPackage, newProject, type Project } from './project.ts';

const node = { title: 'this Node', program: process.execPath, args: [] };
const BROWSER_PROGRAMS = Object.keys(checks.BROWSER_LIMITS) as checks.BrowserProgram[];
let project: Project;

beforeAll(async () => {
  project = await newProject({ offline: true });
  linkPackage(project.directory, '@types/node');
  linkPackage(project.directory, 'undici-types');
}, 240_000);
afterAll(() => project.remove());

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
