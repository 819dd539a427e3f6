/** Sends wild requests to every operation of a server, and tells which answers the OpenAPI document does not know. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { ERROR_CODES } from '@tidemark/core';
import fc from 'fast-check';
import { OPERATIONS, type Operation } from './server-api.ts';
import { type WildRequest, wildRequests } from './server-requests.ts';

const ANSWER_MS = 20_000;
const MOST_CHARACTERS = 1_000_000;

interface Answer {
  status: number;
  type: string;
  text: string;
}

export interface FuzzReport {
  requests: number;
  /** How many answers had each status. */
  statuses: Map<number, number>;
  /** One sentence for each operation that gave an answer it should not. */
  problems: string[];
}

export async function fuzzServer(url: string, rounds: number, seed: number): Promise<FuzzReport> {
  const report: FuzzReport = { requests: 0, statuses: new Map(), problems: [] };
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  try {
    for (const operation of OPERATIONS) {
      const property = fc.asyncProperty(wildRequests(operation), async (wild) => {
        const answer = await send(url, agent, wild);
        report.requests++;
        report.statuses.set(answer.status, (report.statuses.get(answer.status) ?? 0) + 1);
        const wrong = wrongWith(operation, wild, answer);
        if (wrong !== null) throw new Error(`${operation.name}: ${wrong}; answer ${answer.text.slice(0, 500)}`);
      });
      const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: rounds });
      if (failed) report.problems.push(`${errorInstance} (${fc.stringify(counterexample)})`);
    }
    return report;
  } finally {
    agent.destroy();
  }
}

function wrongWith({ path }: Operation, { method }: WildRequest, { status, type, text }: Answer): string | null {
  if (status >= 500 || /"status":5\d\d/.test(text)) return `a failure of the server, ${status}`;
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

/** The whole of an answer, or the beginning of a stream. */
async function read(answer: IncomingMessage): Promise<Answer> {
  const type = answer.headers['content-type'] ?? '';
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MOST_CHARACTERS || (type === 'text/event-stream' && /event:/.test(text))) break;
  }
  return { status: answer.statusCode!, type, text };
}
