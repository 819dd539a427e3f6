/** What each caller may ask for at a time and in a second, so that none of them takes the server from the others. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../auth.ts';
import { EVENT_STREAM } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import type { Limits } from '../limits.ts';
import { Bucket } from './bucket.ts';

type CallerLimits = Pick<Limits, 'requestsPerSecond' | 'requestsAtATime' | 'streamsAtATime'>;

interface Use {
  rate: Bucket;
  requests: number;
  streams: number;
}

const MANY_CALLERS = 10_000;
const STREAM_PATH = /^\/v1\/stream(\?|$)/;

export class Callers {
  readonly #limits: CallerLimits;
  readonly #uses = new Map<string, Use>();

  constructor(limits: CallerLimits) {
    this.#limits = limits;
  }

  /** Counts a request until its answer is out, or refuses it. */
  admit({ id }: Principal, request: IncomingMessage, response: ServerResponse): void {
    const { requestsPerSecond, requestsAtATime, streamsAtATime } = this.#limits;
    const use = this.#useOf(id);
    if (!use.rate.take()) throw tooMuch(`${requestsPerSecond} requests a second`);
    const kind = isLive(request) ? 'streams' : 'requests';
    const most = kind === 'streams' ? streamsAtATime : requestsAtATime;
    if (use[kind] >= most) throw tooMuch(`${most} ${kind} at a time`);
    use[kind]++;
    response.once('close', () => {
      use[kind]--;
    });
  }

  #useOf(id: string): Use {
    let use = this.#uses.get(id);
    if (!use) {
      if (this.#uses.size >= MANY_CALLERS) this.#forgetIdle();
      const { requestsPerSecond } = this.#limits;
      use = { rate: new Bucket(requestsPerSecond, 2 * requestsPerSecond), requests: 0, streams: 0 };
      this.#uses.set(id, use);
    }
    return use;
  }

  /** Whoever has asked nothing lately starts anew. */
  #forgetIdle(): void {
    for (const [id, { rate, requests, streams }] of this.#uses)
      if (requests + streams === 0 && rate.isFull) this.#uses.delete(id);
  }
}

function isLive({ headers, url }: IncomingMessage): boolean {
  return headers.accept?.includes(EVENT_STREAM) === true || STREAM_PATH.test(url!);
}

function tooMuch(rule: string): Refusal {
  return new Refusal(429, 'OVERLOADED', `A caller may make ${rule}`, { field: 'caller', rule: `at most ${rule}` });
}
