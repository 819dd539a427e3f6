/** Capabilities that all SQL engines declare. */
import type { Engine } from '@tidemark/core/engine';

export const SQL_ABILITIES = {
  'runs.denseSequences': true,
  'runs.feed': true,
  'runs.transactions': true,
  'runs.redaction': true,
  'runs.notices': true,
  'runs.inlineProjections': true,
  'kv.watch': true,
  'kv.atomicBatch': true,
  reopen: true,
} as const satisfies Engine['can'];
