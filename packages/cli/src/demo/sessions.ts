/** Demo sessions: messages, updates, planner events, memory, artifacts and pauses. */
import type { AgentStore, StateUpdate, Store, TaskState, TaskStatus, UpdateType } from '@tidemark/core';
import { memoryKey } from '@tidemark/core';
import type { DemoClock } from './clock.ts';
import type { Random } from './random.ts';
import { TOPICS } from './research.ts';

const MINUTE = 60_000;
const SESSIONS = 14;
const PEOPLE = ['ada', 'grace', 'linus', 'margaret', 'tim'];
const NODES = ['router', 'retriever', 'planner', 'writer'];
const UPDATES: UpdateType[] = ['THINKING', 'TOOL_CALL', 'PROGRESS', 'CHECKPOINT', 'NOTIFICATION'];

export async function fillSessions(store: Store, random: Random, clock: DemoClock): Promise<number> {
  for (let number = 1; number <= SESSIONS; number++) {
    const view = number % 6 === 0 ? store.forTenant('acme') : store;
    await fillSession(view, random, clock, number);
  }
  await fillPauses(store.agents, clock);
  return SESSIONS;
}

async function fillSession(store: Store, random: Random, clock: DemoClock, number: number): Promise<void> {
  const sessionId = `session-${String(number).padStart(2, '0')}`;
  const user = random.pick(PEOPLE);
  let time = clock.now - number * random.between(20, 300) * MINUTE;
  for (let turn = 1; turn <= random.between(2, 4); turn++) {
    const topic = random.pick(TOPICS);
    const status =
      number === 1 && turn === 2
        ? 'RUNNING'
        : random.chance(0.12)
          ? 'FAILED'
          : random.chance(0.1)
            ? 'PAUSED'
            : 'COMPLETE';
    const written = new Turn(random, clock, sessionId, turn, topic, time);
    await written.write(store, status);
    const key = memoryKey('acme', user, sessionId);
    const memory = {
      user,
      turns: turn,
      facts: [`asked about ${topic}`],
      summary: `${user} is interested in ${topic}.`,
    };
    await clock.at(written.time, () => store.agents.saveMemoryState(key, memory));
    time = written.time + random.between(1, 6) * MINUTE;
  }
}

/** One question and the agent's work on it. */
class Turn {
  time: number;
  readonly #random: Random;
  readonly #clock: DemoClock;
  readonly #topic: string;
  readonly #ids: { sessionId: string; taskId: string; traceId: string };
  #updates = 0;

  constructor(random: Random, clock: DemoClock, sessionId: string, turn: number, topic: string, time: number) {
    this.#random = random;
    this.#clock = clock;
    this.#topic = topic;
    this.#ids = { sessionId, taskId: `${sessionId}-task-${turn}`, traceId: `${sessionId}-trace-${turn}` };
    this.time = time;
  }

  async write(store: Store, status: TaskStatus): Promise<void> {
    const { agents } = store;
    const { sessionId, taskId, traceId } = this.#ids;
    const created = this.#clock.text(this.time);
    const task: TaskState = {
      ...{ taskId, sessionId, traceId, priority: 0, contextSnapshot: { topic: this.#topic } },
      ...{ status: 'RUNNING', taskType: this.#random.chance(0.7) ? 'FOREGROUND' : 'BACKGROUND' },
      ...{ description: `report on ${this.#topic}`, createdAt: created, updatedAt: created },
    };
    const atTime = <T>(write: () => Promise<T>) => this.#clock.at(this.time, write);
    await atTime(() => agents.saveTask(task));
    const message = { text: `What is new about ${this.#topic}?` };
    await atTime(() =>
      agents.saveSteering({
        sessionId,
        taskId,
        eventId: this.#random.uuid(),
        eventType: 'USER_MESSAGE',
        payload: message,
        source: 'chat',
        createdAt: created,
      }),
    );
    await this.#work(agents);
    await this.#leaveArtifact(store);
    this.time += this.#random.between(500, 9_000);
    await atTime(() =>
      agents.saveUpdate(this.#update('RESULT', { text: `Three things are new about ${this.#topic}.` })),
    );
    const updatedAt = this.#clock.text(this.time);
    const error = status === 'FAILED' ? { error: { code: 'TOOL_FAILED', message: 'the search did not answer' } } : {};
    await atTime(() =>
      agents.saveTask({ ...task, status, updatedAt, ...error, progress: status === 'COMPLETE' ? 1 : 0.6 }),
    );
    await atTime(() =>
      agents.saveRemoteBinding({
        traceId,
        contextId: sessionId,
        taskId,
        agentUrl: 'https://agents.example/search',
        routerSessionId: sessionId,
        remoteSkill: 'search',
        isTerminal: status !== 'RUNNING',
      }),
    );
  }

  /** Writes the planner's steps with their flow events and updates. */
  async #work(agents: AgentStore): Promise<void> {
    const { sessionId, traceId } = this.#ids;
    const steps = this.#random.between(3, 6);
    const thoughts: string[] = [];
    for (let step = 0; step < steps; step++) {
      this.time += this.#random.between(400, 6_000);
      const node = NODES[step % NODES.length]!;
      const thought = `Step ${step + 1}: ask the ${node} about ${this.#topic}.`;
      thoughts.push(thought);
      const [ts, latencyMs] = [this.time / 1000, this.#random.between(80, 4_000)];
      const event = { traceId, nodeName: node, nodeId: `${node}-1` };
      await this.#clock.at(this.time, async () => {
        await agents.saveEvents([
          { ...event, ts, kind: 'node_start', payload: { attempt: 1 } },
          { ...event, ts: ts + latencyMs / 1000, kind: 'node_success', payload: { latency_ms: latencyMs } },
        ]);
        const planned = {
          trajectoryStep: step,
          thought,
          nodeName: node,
          latencyMs,
          tokenEstimate: this.#random.between(200, 3_000),
        };
        await agents.savePlannerEvent(traceId, { eventType: 'step_complete', ts, ...planned });
        await agents.saveUpdate(this.#update(this.#random.pick(UPDATES), { text: thought }, step + 1, steps));
      });
    }
    const trajectory = {
      query: `What is new about ${this.#topic}?`,
      steps: thoughts.map((thought, at) => ({ thought, node: NODES[at % NODES.length] })),
    };
    await this.#clock.at(this.time, () => agents.saveTrajectory(traceId, sessionId, trajectory));
  }

  async #leaveArtifact(store: Store): Promise<void> {
    if (!this.#random.chance(0.6)) return;
    const { sessionId, traceId } = this.#ids;
    const text = `# ${this.#topic}\n\n${'More is known than a year ago, and less than one would like. '.repeat(this.#random.between(5, 60))}\n`;
    const file = { filename: `${this.#topic.replaceAll(' ', '-')}.md`, mimeType: 'text/markdown' };
    await this.#clock.at(this.time, () =>
      store.artifacts.putText(text, { ...file, scope: { sessionId, traceId }, ttl: '30d' }),
    );
  }

  #update(updateType: UpdateType, content: unknown, stepIndex?: number, totalSteps?: number): StateUpdate {
    const { taskId } = this.#ids;
    const progress = stepIndex === undefined ? {} : { stepIndex, totalSteps: totalSteps! };
    const updateId = `${taskId}-update-${++this.#updates}`;
    return { ...this.#ids, updateId, updateType, content, ...progress, createdAt: this.#clock.text(this.time) };
  }
}

/** Writes pauses with questions; the first is about to expire. */
async function fillPauses(agents: AgentStore, clock: DemoClock): Promise<void> {
  const questions: [string, number, string][] = [
    ['approve a refund of 129.00', 4, 'session-01'],
    ['publish the report on copper', 9, 'session-02'],
    ['send the newsletter to 12 000 people', 45, 'session-03'],
    ['delete 40 stale branches', 180, 'session-03'],
    ['sign in to the supplier portal', 600, 'session-05'],
  ];
  for (const [reason, minutes, sessionId] of questions) {
    const asked = clock.now - 20 * MINUTE;
    const ttl = (minutes + 20) * MINUTE;
    const payload = { reason, options: ['approve', 'reject'] };
    await clock.at(asked, () =>
      agents.savePlannerState(`demo-token-${minutes}`, payload, { ttl, sessionId, taskId: `${sessionId}-task-1` }),
    );
  }
}
