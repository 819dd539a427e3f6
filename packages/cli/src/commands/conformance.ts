/** `conformance`: runs the contract's cases against a store, each in its own tenant. */
import type { CaseResult } from '@tidemark/conformance';
import { missingPackage } from '@tidemark/core/engine';
import { state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { integer, one, text, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { openUrl } from '../target.ts';

const CASES: View<CaseResult> = {
  columns: [
    { title: 'CASE', of: ({ id }) => id },
    { title: 'RESULT', of: ({ status }) => state(status) },
    { title: 'PROVES', of: ({ proves }) => proves.join(', ') },
    { title: 'WHY', of: ({ error, reason }) => error ?? reason },
  ],
  id: ({ id }) => id,
};

/** Loads the kit. It is an optional package, because most users do not need its test libraries. */
async function loadKit() {
  try {
    return await import('@tidemark/conformance');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/conformance', 'tidemark conformance');
  }
}

const conformance = defineCommand({
  name: 'conformance',
  summary: 'Run the conformance kit against a store',
  details:
    'Needs the package @tidemark/conformance. Use a separate store: the cases write under their own tenants and leave data behind. Lists failed and skipped cases, and with --verbose all of them. Exits with code 6 if a case failed.',
  effect: 'rw',
  args: { url: one('URL of the store') },
  options: {
    only: text('text', 'only cases whose id contains this text, or that prove this clause: RUN-4'),
    concurrency: withDefault(integer('n', 'number of concurrent cases', 1), 1),
    verbose: toggle('also list passed cases'),
  },
  examples: [{ line: 'conformance memory: --only AGT-5 --verbose', shows: '"status":"passed"' }],
  async run({ out, io, args, options, dryRun, progress }) {
    const { ALL_CASES, runConformance } = await loadKit();
    if (dryRun) return out.report({ dryRun: true, would: 'run the kit', url: args.url, cases: ALL_CASES.length });
    const { TIDEMARK_TOKEN: token } = io.env;
    const open = () => openUrl(args.url, token === undefined ? {} : { token });
    const bar = progress('cases');
    let done = 0;
    const report = await runConformance(
      async () => {
        const store = await open();
        const reopen = async () => {
          await store.close();
          return open();
        };
        return store.info.capabilities.reopen ? { store, peer: open, reopen } : store;
      },
      {
        ...(options.only === undefined ? {} : { only: options.only }),
        concurrency: options.concurrency,
        onCase: () => bar.to(++done),
      },
    );
    bar.end();
    await out.list(
      report.cases.filter(({ status }) => options.verbose || status !== 'passed'),
      CASES,
      'All cases passed.',
    );
    const { passed, failed, skipped } = report.totals;
    await out.note(`${report.backend} ${report.version}: ${passed} passed, ${failed} failed, ${skipped} skipped.`);
    return failed === 0 ? EXIT.ok : EXIT.unmet;
  },
});

export const conformanceCommands = [conformance];
