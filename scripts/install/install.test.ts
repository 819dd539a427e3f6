/** The short form of `npm run test:matrix -- install`: the packed packages on this Node, without the registry. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolPath } from '../processes.ts';
import * as checks from './checks.ts';
import { linkPackage, newProject, type Project } from './project.ts';

const node = { title: 'this Node', program: process.execPath, args: [] };
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
  it('bring the command', () => checks.runsCommand(node, project.directory));
  it('bring the server and the inspector', () => checks.runsServer(node, project.directory));
  it('compile', () => checks.compiles(toolPath('typescript', 'tsc'), project.directory));
  it('work as one file in another folder', () => checks.runsBundle(node, project.directory));
  it('do not grow in a browser', async () => {
    expect(await checks.browserBytes(project.directory)).toBeLessThanOrEqual(checks.BROWSER_LIMIT_BYTES);
  });
});
