/**
 * `restoreRun`: restores an exported run, part by part. Each part is written only after its shape, position, links and
 * head were checked, so a restored run is always the exported one.
 */
import { sameJson } from '../checks/json.ts';
import { checkOptionalBoolean } from '../checks/text.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { RestoreResult, RunPart } from '../contracts/run-parts.ts';
import { isTombstone, type RestoredPart, type RunEngine, type RunHead, type StoredRunEvent } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { ChainReader } from './chain.ts';
import { expiryOf, hasExpired, runExpired } from './expiry.ts';
import { type HeadDifference, HeadRules } from './head-rules.ts';
import { isDeletedLife, tombstoneError } from './lives.ts';
import { restoredPart } from './restored.ts';
import { checkTenant, type RunView } from './view.ts';

export interface RestoreOptions extends CallOptions {
  overDeleted?: boolean;
  keepEncoded?: boolean;
}

export async function restoreParts(
  context: StoreContext,
  engine: RunEngine,
  view: RunView,
  parts: AsyncIterable<RunPart> | Iterable<RunPart>,
  options: RestoreOptions | undefined,
): Promise<RestoreResult> {
  const overDeleted = checkOptionalBoolean(options?.overDeleted, 'overDeleted');
  const keepEncoded = checkOptionalBoolean(options?.keepEncoded, 'keepEncoded');
  if (!isIterable(parts)) throw invalidArgument('parts', 'the parts of an exported run', parts);
  const write = context.writeOf('runs', 'restoreRun', [parts, options]);
  let check: RestoreCheck | null = null;
  for await (const sent of parts) {
    if (check?.isComplete) throw invalidArgument('parts', 'at an end with the part that is the last');
    const part = restoredPart(sent, { context, keepEncoded });
    checkTenant(view, part.head.tenantId);
    const isFirst = check === null;
    check ??= new RestoreCheck(part.head);
    check.take(part);
    const { tenantId, runId, seq } = part.head;
    const run = { tenantId, runId };
    if (isFirst && (await isAlreadyLive(context, engine, part.head, overDeleted, options)))
      return { ...run, lastEventSeq: seq, restored: false };
    await context.write(options, write, (call) => engine.restore(run, part, Object.assign(call, { overDeleted })));
  }
  if (!check?.isComplete) throw invalidArgument('parts', 'all parts of a run, up to the last');
  const { tenantId, runId, seq } = check.head;
  return { tenantId, runId, lastEventSeq: seq, restored: true };
}

function isIterable(parts: unknown): boolean {
  return typeof parts === 'object' && parts !== null && (Symbol.asyncIterator in parts || Symbol.iterator in parts);
}

/**
 * Whether the same run is already live. Throws `RUN_DELETED` for a run that has expired, and for a deleted run unless
 * `overDeleted` is set. The engine checks all other cases when it writes.
 */
async function isAlreadyLive(
  context: StoreContext,
  engine: RunEngine,
  exported: RunHead,
  overDeleted: boolean,
  options: RestoreOptions | undefined,
): Promise<boolean> {
  const { tenantId, runId, seq, link, life } = exported;
  const head = await context.read(options, async (call) => {
    if (expiryOf(exported) !== null && hasExpired(exported, await engine.now(tenantId, call))) throw runExpired(runId);
    return engine.head({ tenantId, runId }, call);
  });
  if (!isTombstone(head)) return head !== null && head.seq === seq && head.link === link;
  if (isDeletedLife(head, life) && !overDeleted) throw tombstoneError(runId, head);
  return false;
}

/** Checks the parts of one run in order. Throws for the first part that does not fit. */
class RestoreCheck {
  readonly head: RunHead;
  readonly #chain: ChainReader;
  readonly #rules: HeadRules;
  #last: StoredRunEvent | null = null;
  isComplete = false;

  constructor(head: RunHead) {
    this.head = head;
    this.#chain = new ChainReader(head);
    this.#rules = new HeadRules(head);
  }

  take(part: RestoredPart): void {
    if (!sameJson(part.head, this.head)) throw invalidArgument('part.run', 'the same in every part of a run');
    if (part.events.length === 0) throw invalidArgument('part.events', 'at least one event');
    for (const event of part.events) this.#takeEvent(event);
    const isAtEnd = this.#last!.runSeq === this.head.seq;
    if (part.isLast !== isAtEnd) throw invalidArgument('part.isLast', `true for the part with event ${this.head.seq}`);
    if (part.isLast) refuse(this.#rules.end());
    this.isComplete = part.isLast;
  }

  #takeEvent(event: StoredRunEvent): void {
    const expected = (this.#last?.runSeq ?? 0) + 1;
    if (event.runSeq !== expected) throw invalidArgument('runSeq', `${expected}, which comes next`, event.runSeq);
    if (event.persistedAt < (this.#last?.persistedAt ?? this.head.createdAt))
      throw invalidArgument('persistedAt', 'not before that of the event before it');
    this.#chain.check(event);
    refuse(this.#rules.take(event));
    this.#last = event;
  }
}

function refuse(difference: HeadDifference | null): void {
  if (difference) throw invalidArgument(difference.field, difference.rule);
}
