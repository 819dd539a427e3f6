/** Shop orders: short runs that mostly complete, with some declined cards and gateway timeouts. */
import type { Random } from './random.ts';
import { type RunScope, RunScript } from './script.ts';

const ITEMS = ['kettle', 'teapot', 'desk lamp', 'notebook', 'headphones', 'rain coat', 'chess set', 'field guide'];
const CITIES = ['berlin', 'lisbon', 'oslo', 'toronto', 'osaka'];
const STEPS = ['validate-cart', 'reserve-stock', 'charge-card', 'ship-parcel', 'send-receipt'] as const;

type Outcome = 'completed' | 'declined' | 'cancelled' | 'stuck' | 'moving';

export function orderRun(random: Random, number: number, startsAt: number, outcome: Outcome): RunScript {
  const scope: RunScope = {
    runId: `order-${number}`,
    tenantId: random.pick(['acme', 'acme', 'globex']),
    projectId: 'shop',
    environmentId: random.chance(0.85) ? 'production' : 'staging',
    planId: 'checkout',
    planVersion: number % 3 === 0 ? '7' : '8',
    labels: { city: random.pick(CITIES), channel: random.pick(['web', 'app', 'phone']) },
  };
  const script = new RunScript(random, scope, startsAt);
  const items = Array.from({ length: random.between(1, 4) }, () => ({
    item: random.pick(ITEMS),
    quantity: random.between(1, 3),
    cents: random.between(900, 18_000),
  }));
  const cents = items.reduce((sum, it) => sum + it.cents * it.quantity, 0);
  script
    .event('RunQueued', { items, cents })
    .wait(5, 900)
    .event('RunStarted', { worker: `w${random.between(1, 6)}` });
  for (const stepId of STEPS) {
    const ending = stepId === 'charge-card' ? outcome : 'completed';
    if (!step(random, script, stepId, cents, ending)) return script;
  }
  return script.wait(5, 60).event('RunCompleted', { cents });
}

/** Writes the events of one step; returns false when the run stops here. */
function step(random: Random, script: RunScript, stepId: string, cents: number, outcome: Outcome): boolean {
  let attempt = 1;
  script.wait(10, 200).event('StepStarted', {}, { stepId });
  while (stepId === 'charge-card' && attempt < 3 && random.chance(0.15)) {
    const failure = { errorCode: 'GATEWAY_TIMEOUT', errorMessage: 'no answer within 10 s', retryable: true };
    script.wait(10_000, 10_400).event('StepFailed', failure, { stepId, attempt });
    attempt++;
    script.wait(2_000, 4_000).event('StepStarted', { afterFailure: 'GATEWAY_TIMEOUT' }, { stepId, attempt });
  }
  if (outcome === 'stuck' || outcome === 'moving') return false;
  if (outcome === 'cancelled') {
    script.wait(3_000, 90_000).event('RunCancelled', { by: 'customer', reason: 'changed my mind' });
    return false;
  }
  if (outcome === 'declined') {
    const failure = { errorCode: 'CARD_DECLINED', errorMessage: 'insufficient funds', retryable: false };
    script.wait(300, 2_000).event('StepFailed', failure, { stepId, attempt }).event('RunFailed', failure);
    return false;
  }
  script.wait(80, 2_500).event('StepCompleted', resultOf(random, stepId, cents), { stepId, attempt });
  return true;
}

function resultOf(random: Random, stepId: string, cents: number): Record<string, unknown> {
  if (stepId === 'charge-card') return { cents, reference: `pay_${random.uuid().slice(0, 8)}` };
  if (stepId === 'ship-parcel')
    return { carrier: random.pick(['post', 'courier', 'bike']), parcel: random.between(10_000, 99_999) };
  if (stepId === 'send-receipt')
    return {
      artifacts: [{ uri: `receipts/${random.uuid()}.pdf`, kind: 'receipt', sizeBytes: random.between(20_000, 90_000) }],
    };
  return { ok: true };
}
