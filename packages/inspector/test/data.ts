/** Runs for the inspector's tests: a failed, a live, a long and a hostile one. */
import { randomUUID } from 'node:crypto';
import type { RunEventInput, Store } from '@tidemark/core';

const BATCH = 1_000;

/** The clock of the test store: returns the time of the event being written. */
export class DataClock {
  #fixed: number | null = null;

  readonly now = (): number => this.#fixed ?? Date.now();

  async at<T>(moment: number, write: () => Promise<T>): Promise<T> {
    this.#fixed = moment;
    try {
      return await write();
    } finally {
      this.#fixed = null;
    }
  }
}

/** A store and the clock it was opened with. */
export interface DataStore {
  store: Store;
  clock: DataClock;
}

export const FAILED_RUN = 'order-1042';
export const LIVE_RUN = 'research-7';
export const TENANT = 'acme';

/** Texts that would run, load or break something if they were not treated as text. */
export const ATTACKS = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  'javascript:alert(3)//\'"</textarea>',
  '{{constructor.constructor("alert(4)")()}}',
  '<svg/onload=fetch("//evil.test/5")>',
  '\u202ereversed\u2028\u2029</style><style>*{display:none}',
];

interface EventSpec {
  type: string;
  step?: string;
  attempt?: number;
  payload?: Record<string, unknown>;
  /** Milliseconds after the previous event. */
  after?: number;
  /** Milliseconds between emitting and storing. */
  late?: number;
}

function event(runId: string, spec: EventSpec, at: number, more: Partial<RunEventInput> = {}): RunEventInput {
  return {
    eventId: randomUUID(),
    eventType: spec.type,
    emittedAt: new Date(at).toISOString(),
    runId,
    tenantId: TENANT,
    projectId: 'shop',
    environmentId: 'production',
    planId: 'checkout',
    planVersion: '3.2.0',
    engineAttemptId: 1,
    logicalAttemptId: spec.attempt ?? 1,
    ...(spec.step === undefined ? {} : { stepId: spec.step }),
    ...(spec.payload === undefined ? {} : { payload: spec.payload }),
    idempotencyKey: randomUUID(),
    ...more,
  } as RunEventInput;
}

/** Writes events one by one with their times; the last one is `ago` milliseconds old. */
async function write(
  { store, clock }: DataStore,
  runId: string,
  specs: EventSpec[],
  { ago = 0, ...more }: Partial<RunEventInput> & { ago?: number } = {},
): Promise<void> {
  let at = Date.now() - ago - specs.reduce((sum, { after = 200 }) => sum + after, 0);
  for (const spec of specs) {
    at += spec.after ?? 200;
    const { late = 12 } = spec;
    await clock.at(at, () => store.runs.appendEvent(event(runId, spec, at - late, more)));
  }
}

/** An order whose payment is declined twice, with a pause of an hour in between. */
export async function writeFailedRun(store: DataStore): Promise<void> {
  const labels = { channel: 'web', customer: 'c-881' };
  await write(
    store,
    FAILED_RUN,
    [
      { type: 'RunQueued', payload: { by: 'api' } },
      { type: 'RunStarted', payload: { worker: 'w3' }, after: 900 },
      { type: 'StepStarted', step: 'reserve', payload: { items: ['tea', 'cup'] } },
      {
        type: 'StockSeen',
        step: 'reserve',
        payload: { warehouse: 'berlin', left: { tea: 41, cup: 3 } },
        after: 450,
        late: 8_400,
      },
      {
        type: 'StepCompleted',
        step: 'reserve',
        payload: { artifacts: [{ uri: 's3://shop/reservations/1042.json', kind: 'json' }], total: 12.99 },
        after: 700,
      },
      { type: 'StepStarted', step: 'charge', payload: { cents: 129900, currency: 'EUR', card: '4242' } },
      {
        type: 'StepFailed',
        step: 'charge',
        payload: { errorCode: 'CARD_DECLINED', errorMessage: 'over the limit', retryable: true, cents: 129900 },
        after: 2_300,
      },
      { type: 'RunPaused', payload: { reason: 'ask the customer for another card' } },
      { type: 'RunResumed', payload: { by: 'customer' }, after: 3_600_000 },
      { type: 'StepStarted', step: 'charge', attempt: 2, payload: { cents: 129900, currency: 'EUR', card: '9981' } },
      { type: 'StepStarted', step: 'notify', payload: { to: 'ada@example.com' } },
      {
        type: 'StepFailed',
        step: 'charge',
        attempt: 2,
        payload: {
          errorCode: 'CARD_DECLINED',
          errorMessage: 'insufficient funds for 1299.00 EUR',
          retryable: false,
          response: { provider: 'pay', status: 402, body: { declineCode: 'insufficient_funds', asked: 129900 } },
        },
        after: 1_900,
      },
      { type: 'StepCompleted', step: 'notify', after: 300 },
      { type: 'StepStarted', step: 'charge', attempt: 2, after: 100 },
      { type: 'RunFailed', payload: { errorCode: 'PAYMENT_FAILED', errorMessage: 'charge failed twice' }, after: 250 },
    ],
    { labels },
  );
}

export async function writeLiveRun(store: DataStore): Promise<void> {
  await write(
    store,
    LIVE_RUN,
    [
      { type: 'RunStarted' },
      { type: 'StepStarted', step: 'plan' },
      { type: 'StepCompleted', step: 'plan', after: 1_500 },
      { type: 'StepStarted', step: 'search' },
    ],
    { planId: 'research', projectId: 'lab', ago: 5_000 },
  );
}

/** Appends progress events to a run. */
export async function appendProgress(store: Store, runId: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await store.runs.appendEvent(
      event(runId, { type: 'Progress', step: 'search', payload: { page: at, found: at * 3 } }, Date.now(), {
        planId: 'research',
        projectId: 'lab',
      }),
    );
}

/** A run with `count` events: steps that start, report progress and end. The run fails at its end. */
export async function writeLongRun({ store, clock }: DataStore, runId: string, count: number): Promise<void> {
  const scope = { planId: 'etl', projectId: 'warehouse', planVersion: '1.0.0' };
  const started = Date.now() - count * 2;
  const make = (seq: number): RunEventInput => {
    const step = `partition-${String(Math.floor(seq / 100)).padStart(5, '0')}`;
    const position = seq % 100;
    if (seq === 1) return event(runId, { type: 'RunStarted' }, started, scope);
    if (seq === count)
      return event(runId, { type: 'RunFailed', payload: { errorCode: 'OUT_OF_SPACE' } }, started + seq * 2, scope);
    const spec: EventSpec =
      position === 2
        ? { type: 'StepStarted', step }
        : position === 99
          ? { type: 'StepCompleted', step, payload: { rows: 9_700 } }
          : { type: 'RowsCopied', step, payload: { table: 'orders', rows: position * 100, checksum: `c${seq}` } };
    return event(runId, spec, started + seq * 2, scope);
  };
  for (let first = 1; first <= count; first += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - first + 1) }, (_, at) => make(first + at));
    await clock.at(started + (first + BATCH) * 2, () => store.runs.appendEvents(batch, { timeoutMs: 60_000 }));
  }
}

/** A run with an attack in every field: ids, types, keys, labels, and names and values of the payload. */
export async function writeHostileRun(store: DataStore): Promise<string> {
  const all = ATTACKS.join(' ');
  const runId = `x${ATTACKS[0]}/..?#${ATTACKS[1]}`;
  const scope = {
    tenantId: ATTACKS[1]!,
    projectId: ATTACKS[0]!,
    environmentId: ATTACKS[2]!,
    planId: ATTACKS[3]!,
    planVersion: ATTACKS[4]!,
    labels: { [ATTACKS[0]!]: ATTACKS[1]! },
  };
  const payload = Object.fromEntries(ATTACKS.map((text, at) => [text, { [`${at}${text}`]: [text, all] }]));
  const failure = { errorCode: ATTACKS[0], errorMessage: all, artifacts: [{ uri: ATTACKS[2], kind: ATTACKS[0] }] };
  await write(
    store,
    runId,
    [
      { type: 'RunStarted', payload },
      { type: 'StepStarted', step: ATTACKS[0]!, payload },
      { type: ATTACKS[1]!, step: ATTACKS[4]!, payload },
      { type: 'StepFailed', step: ATTACKS[0]!, payload: { ...payload, ...failure } },
      { type: 'RunFailed', payload: { ...payload, ...failure } },
    ],
    scope,
  );
  return runId;
}

/** Writes small runs of every kind for lists. */
export async function writeManyRuns(store: DataStore, count: number): Promise<void> {
  const ends = ['RunCompleted', 'RunCompleted', 'RunFailed', 'RunPaused', 'RunCancelled', null];
  const plans = ['checkout', 'refund', 'research', 'etl', 'invoice'];
  for (let at = 0; at < count; at++) {
    const end = ends[at % ends.length];
    const specs: EventSpec[] = [{ type: 'RunStarted' }, { type: 'StepStarted', step: 'fetch' }];
    if (end) specs.push({ type: 'StepCompleted', step: 'fetch', after: 400 + 211 * (at % 17) }, { type: end });
    const planId = plans[at % plans.length]!;
    await write(store, `${planId}-${2_000 + at}`, specs, {
      planId,
      tenantId: at % 4 === 0 ? 'globex' : TENANT,
      projectId: at % 3 === 0 ? 'lab' : 'shop',
      environmentId: at % 5 === 0 ? 'staging' : 'production',
      labels: { region: at % 2 === 0 ? 'eu' : 'us' },
      ago: (count - at) * 47_000 + 4_000_000,
    });
  }
}
