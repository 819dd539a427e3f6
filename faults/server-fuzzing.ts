/** Sends wild requests to every operation of a server, and tells the first whose answer the OpenAPI document does not know. */
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
}

/** Throws with the request, the answer and the seed when an answer is not one that is documented. */
export async function fuzzServer(url: string, rounds: number, seed: number): Promise<FuzzReport> {
  const report: FuzzReport = { requests: 0, statuses: new Map() };
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
      await fc.assert(property, { seed, numRuns: rounds, endOnFailure: true });
    }
    return report;
  } finally {
    agent.destroy();
  }
}

function wrongWith(operation: Operation, { method, path }: WildRequest, { status, type, text }: Answer): string | null {
  if (/"status":5\d\d/.test(text)) return `a failure of the server within ${status}`;
  const isItsOwn = method === operation.method || (method === 'HEAD' && operation.method === 'GET');
  // Another method may be another operation of the same path, whose answers are its own.
  const others = OPERATIONS.filter((it) => it.path === operation.path && it.method === method);
  const documented = isItsOwn ? operation : others[0];
  if (status >= 500) return `status ${status}`;
  if (!documented) return status === 405 || status === 404 ? null : `status ${status} for ${method}`;
  // A segment with a slash in it is another path.
  if (!documented.statuses.has(status)) return `status ${status} of ${method} ${path} is not documented`;
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
