/** Every package publishes a README whose program runs and prints the shown output. */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { memoryStore } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT, runQuietly, SOURCE_FLAGS } from '../scripts/processes.ts';
import { neededServers, offeredUrl, type ServerName } from '../scripts/servers/index.ts';

const PACKAGES = globSync('packages/*/package.json', { cwd: ROOT }).map((manifest) => basename(dirname(manifest)));
/** The inspector is a web page, so its README has no program. */
const PROGRAMS = PACKAGES.filter((name) => name !== 'inspector');
/** The server address in each program, and the URL option that isolates a store. */
const SERVERS: Readonly<Record<string, [address: string, isolation: string]>> = {
  postgres: ['postgres://localhost/app', 'schema'],
  redis: ['redis://localhost:6379', 'prefix'],
  nats: ['nats://localhost:4222', 'prefix'],
};

function readReadme(name: string): string {
  return readFileSync(join(ROOT, 'packages', name, 'README.md'), 'utf8');
}

/** Replaces the server address in a program with a real one, with its own schema or prefix. */
async function withServers(name: string, program: string): Promise<string> {
  if (name === 'client') {
    const server = createServer({ store: memoryStore(), logger: { info() {}, error() {} } });
    onTestFinished(() => server.close());
    return program.replace('http://127.0.0.1:7420', await server.listen());
  }
  const [address, isolation] = SERVERS[name] ?? [];
  if (address === undefined) return program;
  const url = new URL(offeredUrl(name as ServerName)!);
  url.searchParams.set(isolation!, `readme_${crypto.randomUUID().slice(0, 8)}`);
  expect(program).toContain(address);
  return program.replace(address, url.href);
}

/** Runs a program in an empty directory and returns everything it printed. */
async function run(program: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
  const file = join(import.meta.dirname, `.readme-${crypto.randomUUID()}.ts`);
  writeFileSync(file, program);
  onTestFinished(() => {
    rmSync(file);
    rmSync(directory, { recursive: true });
  });
  const { code, output } = await runQuietly(process.execPath, [...SOURCE_FLAGS, file], { cwd: directory });
  expect(code, output).toBe(0);
  return output;
}

describe('the README of a package', () => {
  it.each(PACKAGES)('is published with %s and links to further reading', (name) => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'));
    if (manifest.files) expect(manifest.files).toContain('README.md');
    expect(readReadme(name)).toContain(`# ${manifest.name}\n`);
    expect(readReadme(name)).toContain('\nRead on: [');
  });

  const available: readonly string[] = neededServers();
  const runnable = PROGRAMS.filter((name) => !(name in SERVERS) || available.includes(name));

  it.each(runnable)('has a program that runs, for %s', async (name) => {
    const readme = readReadme(name);
    const [, program] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    const [, output] = /```text\n(.*?)```/s.exec(readme) ?? [];
    expect(await run(await withServers(name, program!))).toBe(output!);
  });
});
