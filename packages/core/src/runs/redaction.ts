/**
 * `redactEvent`: removes a payload from its event, the stored snapshot and the states of projections. The hash of the
 * payload stays, so that the chain remains valid (RUN-17), and the event records who redacted it, when and why.
 */
import { checkInteger } from '../checks/numbers.ts';
import { checkId, checkObject, checkText } from '../checks/text.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { payloadHashOf } from './chain.ts';
import { fetchChecked } from './checked-page.ts';
import type { SnapshotReader } from './snapshots.ts';

export const MAX_REASON_BYTES = 2_048;

/** The event to redact, who requested it and why. */
export interface RedactionRequest {
  runSeq: number;
  by: string;
  reason: string;
}

/** Stored states that are folded from a run's events. */
export interface DerivedStates {
  snapshots: SnapshotReader;
  dropStates(run: RunKey, call: EngineCall): Promise<void>;
}

export function checkRedaction(runSeq: unknown, options: unknown): RedactionRequest {
  const { by, reason } = checkObject(options, 'options');
  const text = checkText(reason, 'reason', MAX_REASON_BYTES);
  if (text.trim() === '') throw invalidArgument('reason', 'given: it is all that will tell why', reason);
  return { runSeq: checkInteger(runSeq, 'runSeq', 1), by: checkId(by, 'by'), reason: text };
}

export async function redactEvent(
  context: StoreContext,
  engine: RunEngine,
  derived: DerivedStates,
  { run, runSeq, by, reason }: RedactionRequest & { run: RunKey },
  call: EngineCall,
): Promise<boolean> {
  // Check the chain first, because a damaged payload must not be replaced by a hash that does not match either.
  const [event] = await fetchChecked(engine, run, runSeq - 1, 1, call);
  if (!event) return false;
  const payloadHash = event.redaction?.payloadHash ?? payloadHashOf(event.payload);
  const redaction = { payloadHash, at: context.clock(), by, reason };
  if (!(await engine.redact(run, runSeq, redaction, Object.assign(call, { tenantId: run.tenantId })))) return false;
  await derived.dropStates(run, call);
  await derived.snapshots.refold(run, call);
  return true;
}

export function redactionUnsupported(): TidemarkError {
  return new TidemarkError(
    'UNSUPPORTED',
    'This engine cannot change a stored event; delete the run, or destroy its key',
    {
      field: 'runs.redaction',
      rule: 'a capability of the store',
    },
  );
}
