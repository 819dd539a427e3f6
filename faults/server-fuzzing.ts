/**
 * Sends random requests to every operation of a server, and reports replies that the OpenAPI document does not
 * describe.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { ERROR_CODES } from '@tidemark/core';
import fc from 'fast-check';
import { OPERATIONS, type Operation } from './server-api.ts';
import { type WildRequest, wildRequests } from './server-requests.ts';

const ANSWER_MS = 20_000;
const MAX_CHARACTERS = 1_000_000;

interface Answer {
  status: number;
  type: string;
  text: string;
}

export interface FuzzReport {
  requests: number;
  /** The number of replies by status. */
  statuses: Map<number, number>;
  /** One sentence for each operation with a wrong reply. */
  problems: string[];
}

export interface Fuzz {
  url: string;
  seed: number;
  /** Requests to each operation. Required without `until`. */
  rounds?: number;
  /** A time of `Date.now()`: continues with other seeds until then. */
  until?: number;
  /** The role of the caller. An anonymous caller has no token. */
  role?: string;
  token?: string | null;
  /** Also sends bodies and queries that are costly to process. */
  heavy?: boolean;
}

const PASS_ROUNDS = 5;
/** The number of problems shown per operation. */
const MAX_SHOWN = 3;

export async function fuzzServer(fuzz: Fuzz): Promise<FuzzReport> {
  const report: FuzzReport = { requests: 0, statuses: new Map(), problems: [] };
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const { until } = fuzz;
  try {
    if (until === undefined) await fuzzOnce(fuzz, fuzz.rounds!, fuzz.seed, agent, report);
    for (let pass = 0; until !== undefined && Date.now() < until; pass++)
      await fuzzOnce(fuzz, PASS_ROUNDS, (fuzz.seed + pass) | 0, agent, report);
    return report;
  } finally {
    agent.destroy();
  }
}

async function fuzzOnce(fuzz: Fuzz, numRuns: number, seed: number, agent: Agent, report: FuzzReport): Promise<void> {
  const { url, token = null, heavy = false, until = Number.POSITIVE_INFINITY } = fuzz;
  const known: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  for (const operation of OPERATIONS) {
    if (Date.now() >= until) return;
    const property = fc.asyncProperty(wildRequests(operation, heavy), async (wild) => {
      const answer = await send(url, agent, { ...wild, headers: { ...wild.headers, ...known } });
      report.requests++;
      report.statuses.set(answer.status, (report.statuses.get(answer.status) ?? 0) + 1);
      const wrong = wrongWith(operation, wild, answer);
      if (wrong !== null) throw new Error(`${operation.name}: ${wrong}; answer ${answer.text.slice(0, 500)}`);
    });
    const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns });
    if (failed && report.problems.filter((it) => it.includes(operation.name)).length < MAX_SHOWN)
      report.problems.push(`${errorInstance} (${fc.stringify(counterexample).slice(0, 2_000)}, seed ${seed})`);
  }
}

/**
 * Returns the server error of a reply, even if only one of many lines contains it. A busy server may reply with 503.
 */
function failureIn(status: number, text: string): string | null {
  const isReasoned = /"code":"(OVERLOADED|UNAVAILABLE)"/.test(text);
  if (status >= 500 && !(status === 503 && isReasoned)) return `a failure of the server, ${status}`;
  const inside = /"status":(5\d\d)/.exec(text)?.[1];
  return inside === undefined || (inside === '503' && isReasoned)
    ? null
    : `a failure of the server in a line, ${inside}`;
}

function wrongWith({ path }: Operation, { method }: WildRequest, { status, type, text }: Answer): string | null {
  const failure = failureIn(status, text);
  if (failure !== null) return failure;
  const asked = method === 'HEAD' ? 'GET' : method;
  const documented = OPERATIONS.find((it) => it.path === path && it.method === asked);
  if (!documented) return status === 405 ? null : `${method} gave ${status}`;
  if (!documented.statuses.has(status)) return `${method} gave ${status}, which is not documented`;
  if (status < 400 || method === 'HEAD') return null;
  if (type !== 'application/problem+json') return `a problem of type ${type}`;
  const problem = JSON.parse(text) as { status: number; code: string };
  return problem.status === status && problem.code in ERROR_CODES ? null : 'a problem that says something else';
}

function send(url: string, agent: Agent, { method, path, headers, body }: WildRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const length = body === null ? {} : { 'content-length': String(body.length) };
    const options = { hostname, port, agent, method, path, headers: { ...headers, ...length }, timeout: ANSWER_MS };
    const sent = request(options, (answer) => void read(answer).then(resolve, reject));
    sent.on('error', (error) => reject(new Error(`${method} ${path} was cut off: ${error.message}`)));
    sent.on('timeout', () => sent.destroy(new Error(`no answer for ${ANSWER_MS} ms`)));
    sent.end(body ?? undefined);
  });
}

/** Reads a whole reply, or the start of a stream. */
async function read(answer: IncomingMessage): Promise<Answer> {
  const type = answer.headers['content-type'] ?? '';
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_CHARACTERS || (type === 'text/event-stream' && /event:/.test(text))) break;
  }
  return { status: answer.statusCode!, type, text };
}
