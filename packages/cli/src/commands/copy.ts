/** `copy`: copies everything from any store to any other, then compares both. */

import { invalidArgument, type Store, TENANT_PARTS } from '@tidemark/core';
import { shownUrl } from '@tidemark/core/engine';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { choicesOf, integer, maybe, text, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { readUrl } from '../settings.ts';
import { openUrl } from '../target.ts';

interface CopiedPart {
  part: string;
  copied: number;
  same: number;
  removed: number;
  differing: number;
}

const PARTS: View<CopiedPart> = {
  columns: [
    { title: 'PART', of: ({ part }) => part },
    { title: 'COPIED', of: ({ copied }) => copied },
    { title: 'SAME', of: ({ same }) => same },
    { title: 'REMOVED', of: ({ removed }) => removed },
    { title: 'DIFFERING', of: ({ differing }) => differing },
  ],
  id: ({ part }) => part,
};

const copy = defineCommand({
  name: 'copy',
  summary: 'Copy everything to another store and compare both',
  details:
    'Identical data is skipped, so an interrupted copy can simply be run again. Runs deleted, pauses consumed and sessions erased in the source are removed from the target too. With --mirror, other data that an earlier copy wrote and that the source no longer has is removed as well. Do not write to either store during the copy. The token for the target is read from TIDEMARK_TARGET_TOKEN. Exits with code 6 if the stores differ at the end, even if the target only has more.',
  effect: 'rw',
  args: { to: maybe('URL of the store to copy to (default: from --to-file or TIDEMARK_TARGET_STORE)') },
  options: {
    part: choicesOf(TENANT_PARTS, 'part', `only this part: ${TENANT_PARTS.join(', ')}`),
    toFile: text('file', 'file that holds the URL to copy to, which keeps it out of the process list'),
    mirror: toggle('remove data that an earlier copy wrote and the source no longer has'),
    concurrency: withDefault(integer('n', 'number of concurrent copies', 1), 8),
  },
  examples: [
    { line: 'copy sqlite:copy.db', shows: '"part":"runs","copied":3' },
    { line: 'copy sqlite:copy.db --mirror', shows: '"part":"runs"' },
    { line: 'copy sqlite:copy.db --dry-run', shows: '"would":"copy"' },
  ],
  async run(context) {
    const { store, out, io, args, options, settings, dryRun, progress } = context;
    const { copyStore } = await import('@tidemark/runtime');
    const url = targetUrl(args.to, options.toFile, io.env);
    const from = await store({ mustExist: true, withoutRetries: true });
    const target = shownUrl(url);
    if (dryRun) return out.report({ dryRun: true, would: 'copy', from: shownUrl(settings.store), to: target });
    const bar = progress('copying');
    const { parts, differences, problems, complete } = await copyTo(url, context, (to) =>
      copyStore(from, to, {
        ...(options.part.length > 0 ? { parts: options.part } : {}),
        ...(settings.tenant === undefined ? {} : { tenants: [settings.tenant] }),
        mirror: options.mirror,
        concurrency: options.concurrency,
        signal: io.signal,
        onProgress: (report) => bar.to(Object.values(report.parts).reduce((sum, it) => sum + it.copied + it.same, 0)),
      }),
    );
    bar.end();
    await out.list(
      Object.entries(parts).map(([part, counts]) => ({ part, ...counts })),
      PARTS,
      'There is nothing to copy.',
    );
    for (const it of differences) await out.note(`differs: ${it.part} of ${it.tenantId}, ${it.id}: ${it.reason}`);
    for (const it of problems) await out.note(`failed: ${it.part} of ${it.tenantId}, ${it.id}: ${it.error}`);
    if (io.signal.aborted) return EXIT.interrupted;
    return complete ? EXIT.ok : EXIT.unmet;
  },
});

function targetUrl(url: string | undefined, file: string | undefined, env: Io['env']): string {
  if (url !== undefined && file !== undefined)
    throw invalidArgument('--to-file', 'given without a URL, which names a store too');
  const given = url ?? (file === undefined ? env.TIDEMARK_TARGET_STORE : readUrl(file, '--to-file'));
  if (given) return given;
  throw invalidArgument('to', 'given, or in the file of --to-file, or in TIDEMARK_TARGET_STORE');
}

/** Uses the target's own token, because the source's token must not reach another server. */
async function copyTo<T>(
  url: string,
  { io, settings: { timeoutMs } }: Pick<CommandContext<unknown, unknown>, 'io' | 'settings'>,
  copyInto: (to: Store) => Promise<T>,
): Promise<T> {
  const token = io.env.TIDEMARK_TARGET_TOKEN;
  const to = await openUrl(url, {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(token === undefined ? {} : { token }),
  });
  try {
    return await copyInto(to);
  } finally {
    await to.close();
  }
}

export const copyCommands = [copy];
