/** Appends: one event, several events that are stored together, or lines that succeed or fail individually. */
import { type AppendOptions, type AppendResult, invalidArgument, type RunEventInput } from '@tidemark/core';
import { inParts } from '@tidemark/core/engine';
import type { AppendQuery } from '@tidemark/wire/routes';
import { whileHeld } from '../auth/holds.ts';
import { type ANSWERED, type Answer, created, json, sendBatches } from '../http/answer.ts';
import { COPIES_PER_BODY, parseJson, readLines } from '../http/body.ts';
import { matchOf } from '../http/conditions.ts';
import { problemOf } from '../http/problems.ts';
import { turnToAppend } from '../limits/pacing.ts';
import type { Shares } from '../limits/shares.ts';
import { appendIdentified } from './event-ids.ts';
import { lifeOfAppend } from './lives.ts';
import type { Call } from './route.ts';

/** The number of lines per batch: as many as fit into one commit. */
const BATCH = 500;
const BATCHES = 8;
/** The maximum size of all lines in progress, which limits the number of lines because lines may be large. */
const BYTES_UNDER_WAY = 8 * 1024 * 1024;
/**
 * The number of lines per batch while tenants are limited to their shares. Small batches let the server serve other
 * tenants in between.
 */
const SMALL_BATCH = 32;
/** Maximum number of events per store call. */
const MAX_EVENTS = 1_000;

type LineResult = { status: number } & Partial<AppendResult>;
type AppendCall = Call<AppendQuery, unknown>;

/** Handles an append. `complete` fills in the fields that the path determines. */
export async function append(
  call: AppendCall,
  complete: (event: RunEventInput) => RunEventInput,
): Promise<Answer | typeof ANSWERED> {
  const { store, body, response, services } = call;
  const options = optionsOf(call);
  if (body === undefined) return sendBatches(response, appendLines(call, options, complete));
  if (Array.isArray(body)) {
    // The store rejects a list of this length anyway.
    const events = body.length > MAX_EVENTS ? body : body.map(complete);
    const results = await appendIdentified(events, (them) => store.runs.appendEvents(them, options));
    services.metrics.appendedEvents += results.filter((it) => it.persisted).length;
    return json({ items: results });
  }
  const event = withKey(call, complete(body as RunEventInput));
  const result = await appendIdentified([event], ([it]) => store.runs.appendEvent(it!, options));
  if (result.persisted) services.metrics.appendedEvents++;
  return created(result.persisted, result);
}

function optionsOf({ query, request, options }: AppendCall): AppendOptions {
  const { rejectInvalidTransitions, life } = query;
  const expectedSeq = query.expectedSeq ?? matchOf(request);
  return {
    ...options,
    ...(expectedSeq === undefined ? {} : { expectedSeq }),
    ...(life === undefined ? {} : { life: lifeOfAppend(life) }),
    ...(rejectInvalidTransitions === undefined ? {} : { rejectInvalidTransitions }),
  };
}

function withKey({ request }: AppendCall, event: RunEventInput): RunEventInput {
  const key = request.headers['idempotency-key'] as string | undefined;
  return key === undefined || event.idempotencyKey !== undefined ? event : { ...event, idempotencyKey: key };
}

/** Yields one result per line, in order. */
async function* appendLines(
  call: AppendCall,
  options: AppendOptions,
  complete: (event: RunEventInput) => RunEventInput,
): AsyncGenerator<unknown[]> {
  const { store, request, response, services, memory } = call;
  const { lineBytes, bodyMembers } = services.limits;
  const appendLine = async (line: Buffer) => {
    try {
      const event = complete(eventOf(line, bodyMembers));
      const result = await appendIdentified([event], ([it]) => store.runs.appendEvent(it!, options));
      return { status: result.persisted ? 201 : 200, ...result };
    } catch (error) {
      const problem = problemOf(error, response);
      return { status: problem.status, problem };
    }
  };
  const underWay: { bytes: number; results: Promise<LineResult[]> }[] = [];
  let bytesUnderWay = 0;
  const take = async () => {
    const { bytes, results } = underWay.shift()!;
    const taken = await results;
    bytesUnderWay -= bytes;
    memory.shrink(COPIES_PER_BODY * bytes);
    for (const { persisted } of taken) if (persisted) services.metrics.appendedEvents++;
    return taken;
  };
  const batches = inBatches(readLines(request, lineBytes, memory), services.shares);
  let failure: { error: unknown } | undefined;
  try {
    for await (const lines of whileHeld(call.hold, batches)) {
      let bytes = 0;
      for (const line of lines) bytes += line.length;
      // Waits for work in progress to finish before requesting more memory than is available.
      const isTooMuch = () =>
        underWay.length >= BATCHES ||
        bytesUnderWay + bytes > BYTES_UNDER_WAY ||
        !memory.mayGrow(COPIES_PER_BODY * bytes);
      while (underWay.length > 0 && isTooMuch()) yield await take();
      memory.grow(COPIES_PER_BODY * bytes);
      bytesUnderWay += bytes;
      const { begun, end } = turnToAppend(call, lines.length);
      if (begun) await begun;
      underWay.push({ bytes, results: Promise.all(lines.map(appendLine)).finally(end) });
    }
  } catch (error) {
    failure = { error };
  }
  // Lines before a failure are being stored, so they are answered first.
  while (underWay.length > 0) yield await take();
  if (failure) throw failure.error;
}

function eventOf(line: Buffer, maxMembers: number): RunEventInput {
  const event = parseJson(line, maxMembers);
  if (typeof event === 'object' && event !== null && !Array.isArray(event)) return event as RunEventInput;
  throw invalidArgument('event', 'a JSON object', event);
}

/** Splits the lines of several chunks into batches. */
async function* inBatches(chunks: AsyncIterable<Buffer[]>, shares: Shares): AsyncGenerator<Buffer[]> {
  for await (const lines of chunks) yield* inParts(lines, shares.isPacing ? SMALL_BATCH : BATCH);
}
