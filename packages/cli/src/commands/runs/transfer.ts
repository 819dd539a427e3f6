/** `runs export` and `runs import`: transfer whole runs as JSON lines, with their hash chains. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { type CallOptions, invalidArgument, type RunPart, type RunStore } from '@tidemark/core';
import { type CommandContext, defineCommand } from '../../command.ts';
import type { Io } from '../../io.ts';
import { many, one, text, toggle } from '../../options.ts';
import { writeWholeFile } from '../../whole-file.ts';

const exportRuns = defineCommand({
  name: 'runs export',
  summary: 'Export whole runs as JSON lines',
  details:
    'Each line is a part of a run with its hash chain, in the form that `tidemark runs import` reads. Payloads are exported as stored.',
  effect: 'ro',
  args: { runs: many('ids of the runs') },
  options: { to: text('file', 'write to this file instead of stdout') },
  examples: [
    { line: 'runs export order-42 order-7', shows: '"isLast":true' },
    { line: 'runs export order-42 --to order-42.jsonl', shows: 'order-42.jsonl' },
  ],
  async run({ store, out, args, options, longCall }) {
    const { runs } = await store({ mustExist: true });
    const lines = exportLines(runs, args.runs, longCall);
    if (options.to === undefined) {
      for await (const line of lines) await out.raw(line);
      return;
    }
    await writeWholeFile(options.to, lines);
    await out.note(`Wrote ${options.to}.`);
  },
});

async function* exportLines(
  runs: RunStore,
  ids: readonly string[],
  longCall: CallOptions,
): AsyncGenerator<string, void, undefined> {
  for (const id of ids) for await (const part of runs.exportRun(id, longCall)) yield `${JSON.stringify(part)}\n`;
}

const importRuns = defineCommand({
  name: 'runs import',
  summary: 'Import exported runs into a store',
  details:
    'Sequences, times and hashes are kept. Repeating an import changes nothing; a different run with the same id is a conflict.',
  effect: 'rw',
  args: { file: one('file written by `tidemark runs export`, or - for stdin') },
  options: { overDeleted: toggle('also restore deleted runs') },
  examples: [
    { line: 'runs import exported.jsonl --store sqlite:copy.db', shows: '"restored":true' },
    { line: 'runs import exported.jsonl --dry-run', shows: '"would":"import"' },
  ],
  async run(context) {
    const { store, out, io, args, options, dryRun, longCall } = context;
    const parts = readParts(args.file, io);
    const runs = dryRun ? undefined : (await store()).runs;
    for await (const run of runsIn(parts)) {
      if (!runs) {
        await reportRun(context, run);
        continue;
      }
      const restored = await runs.restoreRun(run, { ...options, ...longCall, keepEncoded: true });
      await out.report({ ...restored }, restored.runId);
    }
  },
});

async function reportRun(
  { out }: Pick<CommandContext<unknown, unknown>, 'out'>,
  parts: AsyncIterable<RunPart>,
): Promise<void> {
  for await (const { run, isLast } of parts) {
    if (isLast)
      await out.report({ dryRun: true, would: 'import', runId: run.runId, events: run.lastEventSeq }, run.runId);
  }
}

async function* readParts(name: string, io: Io): AsyncGenerator<RunPart, void, undefined> {
  const input = name === '-' ? Readable.from(io.stdin) : createReadStream(name);
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() !== '') yield parsePart(line, `${name}:${number}`);
  }
}

function parsePart(line: string, position: string): RunPart {
  try {
    const part = JSON.parse(line) as RunPart;
    if (typeof part?.run?.runId === 'string' && typeof part.isLast === 'boolean') return part;
  } catch {
    // Reported below, with the position.
  }
  throw invalidArgument(position, 'a line that `tidemark runs export` wrote');
}

/** Yields the runs of a file one by one. Each run is read to its last part before the next run begins. */
async function* runsIn(parts: AsyncIterator<RunPart>): AsyncGenerator<AsyncIterable<RunPart>, void, undefined> {
  for (let next = await parts.next(); !next.done; next = await parts.next()) {
    const first = next.value;
    let isAtEnd = false;
    yield (async function* run() {
      let part = first;
      for (;;) {
        isAtEnd = part.isLast;
        yield part;
        if (part.isLast) return;
        const following = await parts.next();
        if (following.done) return;
        part = following.value;
      }
    })();
    // The import stops reading a run that already exists, so its remaining parts are skipped.
    while (!isAtEnd) {
      const skipped = await parts.next();
      if (skipped.done) return;
      isAtEnd = skipped.value.isLast;
    }
  }
}

export const runTransferCommands = [exportRuns, importRuns];
