/** `artifacts`: stored files, by reference and scope. */
import { createReadStream, existsSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type ArtifactRef,
  type ArtifactScope,
  type ArtifactTotals,
  invalidArgument,
  type StoredArtifact,
  TidemarkError,
} from '@tidemark/core';
import { at } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { noFile } from '../failures.ts';
import { duration, integer, one, text, toggle } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';
import { writeWholeFile } from '../whole-file.ts';

const ID = one('id of the artifact');
const SCOPE = {
  session: text('id', 'session it belongs to'),
  trace: text('id', 'trace it belongs to'),
  user: text('id', 'user it belongs to'),
};

function toScope({ session, trace, user }: Record<'session' | 'trace' | 'user', string | undefined>): ArtifactScope {
  return {
    ...(session === undefined ? {} : { sessionId: session }),
    ...(trace === undefined ? {} : { traceId: trace }),
    ...(user === undefined ? {} : { userId: user }),
  };
}

const ARTIFACTS: View<Omit<ArtifactRef, 'sha256' | 'source'>> = {
  columns: [
    { title: 'ID', of: ({ id }) => id },
    { title: 'NAME', of: ({ filename }) => filename },
    { title: 'TYPE', of: ({ mimeType }) => mimeType },
    { title: 'BYTES', of: ({ sizeBytes }) => sizeBytes },
    { title: 'SESSION', of: ({ scope }) => scope.sessionId },
    { title: 'CREATED', of: ({ createdAt }) => at(createdAt) },
    { title: 'EXPIRES', of: ({ expiresAt }) => at(expiresAt) },
  ],
  id: ({ id }) => id,
};

const STORED_ARTIFACTS: View<StoredArtifact> = {
  columns: [{ title: 'TENANT', of: ({ tenantId }) => tenantId }, ...ARTIFACTS.columns],
  id: ({ id }) => id,
};

const TOTALS: View<ArtifactTotals> = {
  columns: [
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'ARTIFACTS', of: ({ references }) => references },
    { title: 'CONTENTS', of: ({ blobs }) => blobs },
    { title: 'BYTES', of: ({ bytes }) => bytes },
  ],
  id: ({ tenantId }) => tenantId,
};

const noArtifact = (id: string) => new TidemarkError('NOT_FOUND', `There is no artifact ${JSON.stringify(id)}`);

const list = defineCommand({
  name: 'artifacts list',
  summary: 'List artifacts',
  effect: 'ro',
  options: {
    ...SCOPE,
    allTenants: toggle('list the artifacts of all tenants, or with --tenant all of that one'),
    limit: limitOption,
  },
  examples: [
    { line: 'artifacts list --session session-1', shows: 'report.txt' },
    { line: 'artifacts list --all-tenants', shows: '"tenantId":"default"' },
  ],
  async run({ store, out, options }) {
    const { artifacts, admin } = await store();
    if (options.allTenants) {
      const [part] = Object.keys(toScope(options));
      if (part !== undefined) throw invalidArgument('all-tenants', 'without --session, --trace and --user');
      const pages = upTo(options.limit, (page) => admin.listArtifacts(page), out);
      await out.list(pages, STORED_ARTIFACTS, 'No artifacts found.');
      return;
    }
    const pages = upTo(options.limit, (page) => artifacts.list(toScope(options), page), out);
    await out.list(pages, ARTIFACTS, 'No artifacts found.');
  },
});

const totals = defineCommand({
  name: 'artifacts totals',
  summary: 'Count the artifacts of each tenant',
  details: 'Equal bytes are stored once per tenant. Bytes without an artifact count until they are swept.',
  effect: 'ro',
  options: { limit: limitOption },
  examples: [{ line: 'artifacts totals', shows: '"references":1' }],
  async run({ store, out, options, longCall }) {
    const { admin } = await store();
    const pages = upTo(options.limit, (page) => admin.artifactTotals({ ...longCall, ...page }), out);
    await out.list(pages, TOTALS, 'No artifacts found.');
  },
});

const show = defineCommand({
  name: 'artifacts show',
  summary: 'Show the metadata of an artifact',
  effect: 'ro',
  args: { artifact: ID },
  examples: [{ line: 'artifacts show $ARTIFACT', shows: '"filename":"report.txt"' }],
  async run({ store, out, args }) {
    const { artifacts } = await store();
    const found = await artifacts.getRef(args.artifact);
    if (!found) throw noArtifact(args.artifact);
    await out.show(found, ARTIFACTS);
  },
});

const get = defineCommand({
  name: 'artifacts get',
  summary: 'Read the bytes of an artifact',
  effect: 'ro',
  args: { artifact: ID },
  options: {
    to: text('file', 'write to this file instead of stdout'),
    start: integer('n', 'first byte to read, counted from 0'),
    end: integer('n', 'byte to stop before'),
  },
  examples: [
    { line: 'artifacts get $ARTIFACT --start 4 --end 6', shows: 'is' },
    { line: 'artifacts get $ARTIFACT', shows: 'All is well.' },
    { line: 'artifacts get $ARTIFACT --to copy.txt', shows: 'copy.txt' },
  ],
  async run({ store, out, args, options, longCall }) {
    const { artifacts } = await store();
    const bytes = await artifacts.getStream(args.artifact, { ...longCall, start: options.start, end: options.end });
    if (!bytes) throw noArtifact(args.artifact);
    if (options.to === undefined) {
      for await (const chunk of bytes) await out.raw(chunk);
      return;
    }
    await writeWholeFile(options.to, bytes);
    await out.note(`Wrote ${options.to}.`);
  },
});

const put = defineCommand({
  name: 'artifacts put',
  summary: 'Store a file as an artifact',
  details: 'Storing the same bytes in the same scope again returns the same reference.',
  effect: 'rw',
  args: { file: one('file, or - for stdin') },
  options: {
    ...SCOPE,
    name: text('name', 'file name to store (default: the name of the file)'),
    type: text('type', 'media type, such as application/pdf'),
    ttl: duration('duration', 'how long to keep it (default: as configured in the store)'),
  },
  examples: [
    { line: 'artifacts put notes.txt --session session-1 --type text/plain', shows: '"filename":"notes.txt"' },
    { line: 'artifacts put notes.txt --dry-run', shows: '"would":"put"' },
  ],
  async run({ store, out, io, args, options, dryRun, longCall }) {
    const { artifacts } = await store();
    if (args.file !== '-' && !existsSync(args.file)) throw noFile(`There is no file ${args.file}`);
    const filename = options.name ?? (args.file === '-' ? undefined : basename(args.file));
    const described = {
      scope: toScope(options),
      ...(filename === undefined ? {} : { filename }),
      ...(options.type === undefined ? {} : { mimeType: options.type }),
      ...(options.ttl === undefined ? {} : { ttl: options.ttl }),
    };
    if (dryRun) return out.report({ dryRun: true, would: 'put', ...described });
    const chunks: AsyncIterable<Uint8Array> = args.file === '-' ? io.stdin : createReadStream(args.file);
    await out.show(await artifacts.putStream(chunks, { ...described, ...longCall }), ARTIFACTS);
  },
});

const remove = defineCommand({
  name: 'artifacts delete',
  summary: 'Delete an artifact',
  effect: 'destructive',
  args: { artifact: ID },
  examples: [{ line: 'artifacts delete $ARTIFACT --yes', shows: '"deleted":true' }],
  async run({ store, out, args: { artifact }, dryRun, confirm }) {
    const { artifacts } = await store();
    const found = await artifacts.getRef(artifact);
    if (!found) throw noArtifact(artifact);
    if (dryRun) return out.report({ dryRun: true, would: 'delete', id: artifact, filename: found.filename }, artifact);
    await confirm({ action: `delete the artifact ${artifact} (${found.filename ?? 'unnamed'})`, answer: artifact });
    await out.report({ id: artifact, deleted: await artifacts.delete(artifact) }, artifact);
  },
});

const sweep = defineCommand({
  name: 'artifacts sweep',
  summary: 'Remove expired artifacts and unreferenced bytes',
  effect: 'destructive',
  options: { grace: duration('duration', 'how long to keep unreferenced bytes') },
  examples: [{ line: 'artifacts sweep --yes', shows: '"references":0' }],
  async run({ store, out, options, dryRun, confirm, longCall }) {
    const { artifacts } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'sweep' });
    await confirm({ action: 'remove expired artifacts and unreferenced bytes', answer: 'sweep' });
    await out.report({
      ...(await artifacts.sweep({ ...longCall, ...(options.grace === undefined ? {} : { grace: options.grace }) })),
    });
  },
});

export const artifactCommands = [list, totals, show, get, put, remove, sweep];
