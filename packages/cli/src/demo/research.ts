/** Research agents: longer runs with tool calls, tokens, thoughts and approvals before publishing. */
import type { Random } from './random.ts';
import { type RunScope, RunScript } from './script.ts';

export const TOPICS = [
  ...['heat pumps in old houses', 'night trains across Europe', 'prices of copper', 'seaweed as packaging'],
  ...['open data of cities', 'repairable phones', 'water use of data centres', 'small language models'],
];
const TOOLS = ['search_web', 'read_page', 'query_table', 'summarise'];

type Outcome = 'completed' | 'failed' | 'waiting' | 'moving';

export function researchRun(random: Random, number: number, startsAt: number, outcome: Outcome): RunScript {
  const topic = random.pick(TOPICS);
  const scope: RunScope = {
    runId: `research-${String(number).padStart(3, '0')}`,
    tenantId: random.pick(['acme', 'initech', 'default']),
    projectId: 'assistants',
    environmentId: 'production',
    planId: random.pick(['deep-research', 'quick-answer']),
    planVersion: '3',
    labels: { model: random.pick(['large', 'small']), asked_by: random.pick(['ada', 'grace', 'linus', 'margaret']) },
  };
  const script = new RunScript(random, scope, startsAt);
  script.event('RunStarted', { question: `What is new about ${topic}?` });
  const rounds = scope.planId === 'deep-research' ? random.between(3, 8) : random.between(1, 2);
  for (let round = 1; round <= rounds; round++) searchRound(random, script, round, topic);
  if (outcome === 'moving') return script;
  if (outcome === 'failed') return exhausted(script);
  if (outcome === 'waiting' || random.chance(0.3)) {
    script.wait(200, 900).event('RunPaused', { reason: 'approval', question: `Publish the report on ${topic}?` });
    if (outcome === 'waiting') return script;
    script.wait(60_000, 3_600_000).event('RunResumed', { approvedBy: random.pick(['ada', 'grace']) });
  }
  const report = { uri: `artifacts/${random.uuid()}`, kind: 'report', sizeBytes: random.between(4_000, 60_000) };
  script.wait(500, 4_000).event('StepStarted', {}, { stepId: 'write-report' });
  script
    .wait(4_000, 30_000)
    .event('StepCompleted', { words: random.between(400, 4_000), artifacts: [report] }, { stepId: 'write-report' });
  return script.wait(10, 90).event('RunCompleted', { sources: rounds * 3 });
}

function searchRound(random: Random, script: RunScript, round: number, topic: string): void {
  const stepId = `search-${round}`;
  script.wait(50, 400).event('StepStarted', { goal: `sources on ${topic}, part ${round}` }, { stepId });
  for (let call = random.between(2, 5); call > 0; call--) {
    const tool = random.pick(TOOLS);
    script.wait(100, 900).event('ToolCalled', { tool, arguments: { query: topic, page: call } }, { stepId });
    script.wait(200, 6_000).event('ToolAnswered', { tool, results: random.between(0, 12) }, { stepId });
  }
  const tokens = { prompt: random.between(900, 9_000), answer: random.between(60, 900) };
  script
    .wait(400, 5_000)
    .event('ModelAnswered', { thought: `Part ${round} is covered well enough.`, tokens }, { stepId });
  script.wait(5, 50).event('StepCompleted', { sources: random.between(1, 6) }, { stepId });
}

function exhausted(script: RunScript): RunScript {
  const failure = { errorCode: 'BUDGET_EXHAUSTED', errorMessage: 'used 120 000 of 120 000 tokens', retryable: false };
  script.wait(100, 900).event('StepStarted', {}, { stepId: 'write-report' });
  script.wait(100, 900).event('StepFailed', failure, { stepId: 'write-report' });
  return script.wait(5, 20).event('RunFailed', failure);
}
