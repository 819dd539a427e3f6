/** Runs the steps of the Dockerfile in a directory, because the machines that test them have no container engine. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PATH_WITH_NODE } from '../install/project.ts';
import { ROOT, runQuietly, whileServing } from '../processes.ts';

interface Instruction {
  word: string;
  rest: string;
}

/** Returns the instructions of each stage of the Dockerfile, with continued lines joined. */
export function readStages(): Instruction[][] {
  const stages: Instruction[][] = [];
  const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replace(/\\\n/g, ' ').split('\n');
  for (const line of lines.filter((it) => it.trim() !== '' && !it.startsWith('#'))) {
    const [, word, rest] = /^\s*(\S+)\s+(.*)$/.exec(line)!;
    if (word === 'FROM') stages.push([]);
    stages.at(-1)!.push({ word: word!, rest: rest!.trim() });
  }
  return stages;
}

/** Returns the files of this repository that a stage copies, and their paths in the image. */
export function copiesOf(stage: readonly Instruction[]): { file: string; target: string }[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  return stage
    .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => {
      const paths = rest.split(/\s+/);
      const to = paths.pop()!;
      return paths.flatMap((path) => {
        const target = to === './' ? basename(path) : to;
        const copied = files.filter((file) => file === path || file.startsWith(`${path}/`));
        return copied.map((file) => ({ file, target: target + file.slice(path.length) }));
      });
    });
}

/**
 * Runs the first stage of the Dockerfile in a temporary directory. `offline` links the installed packages of this
 * repository instead of running `npm ci`.
 */
async function buildImage({ offline }: { offline: boolean }): Promise<{ directory: string; remove(): void }> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-image-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const [stage] = readStages();
  try {
    for (const { file, target } of copiesOf(stage!)) {
      mkdirSync(dirname(join(directory, target)), { recursive: true });
      cpSync(join(ROOT, file), join(directory, target));
    }
    if (offline) linkInstalled(directory);
    for (const { rest } of stage!.filter(({ word }) => word === 'RUN')) {
      const steps = rest.split(' && ').filter((step) => !offline || !step.startsWith('npm ci'));
      // Vite, which the matrix runs before, sets NODE_ENV in its process, and npm would omit what the build needs.
      const env = { ...process.env, PATH: PATH_WITH_NODE, NODE_ENV: '' };
      const { code, output } = await runQuietly('sh', ['-ec', steps.join(' && ')], { cwd: directory, env });
      if (code !== 0) throw new Error(output);
    }
    return { directory, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Links each installed package, and ours to their folders in the image. */
function linkInstalled(directory: string): void {
  const modules = join(directory, 'node_modules');
  mkdirSync(join(modules, '@tidemark'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!['@tidemark', 'tidemark', '.cache'].includes(name))
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  for (const name of readdirSync(join(directory, 'packages')))
    symlinkSync(join(directory, 'packages', name), join(modules, name === 'tidemark' ? name : `@tidemark/${name}`));
}

/** Runs the command of the image on a free port and with a key, while `use` works with its address. */
function servesFrom(directory: string, use: (address: string) => Promise<void>): Promise<void> {
  const final = readStages().at(-1)!;
  const read = (word: string) => JSON.parse(final.find((it) => it.word === word)!.rest) as string[];
  const [program, ...args] = [...read('ENTRYPOINT'), ...read('CMD'), '--port', '0'];
  const env = { ...process.env, NODE_OPTIONS: '', TIDEMARK_STORE: `sqlite:${join(directory, 'state.db')}` };
  return whileServing(program === 'node' ? process.execPath : program!, args, { cwd: directory, env }, use);
}

/** Builds the image and asks its server for the inspector, the documentation and the API. */
export async function checkImage({ offline }: { offline: boolean }): Promise<void> {
  const { directory, remove } = await buildImage({ offline });
  try {
    if (existsSync(join(directory, 'packages/core/src'))) throw new Error('the image has the sources');
    await servesFrom(directory, async (address) => {
      const parts = { '/': '<script', '/docs/': '<h1', '/docs/guide/runs.html': '<h1', '/v1/runs': 'UNAUTHENTICATED' };
      for (const [path, part] of Object.entries(parts)) {
        const text = await (await fetch(address + path)).text();
        if (!text.includes(part)) throw new Error(`${path} has no ${part}: ${text.slice(0, 200)}`);
      }
    });
  } finally {
    remove();
  }
}
