/**
 * Helpers of the load generators of `server-fairness`: requests over persistent connections, and their response times.
 */
import { Agent, request as httpRequest } from 'node:http';
import { setPriority } from 'node:os';

/**
 * Raises the priority of the process if allowed, so that other work on the machine does not disturb the measurement.
 */
export function takePriority(): void {
  try {
    setPriority(-20);
  } catch {
    // Only root may do this. Without it, the results are noisier.
  }
}

export interface Sent {
  status: number;
  bytes: number;
}

/** Sends requests over a limited number of kept connections. */
export class Sender {
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #headers: Record<string, string>;

  constructor(url: string, key: string, maxSockets: number) {
    this.#url = new URL(url);
    this.#agent = new Agent({ keepAlive: true, maxSockets });
    this.#headers = { authorization: `Bearer ${key}` };
  }

  /** Resolves with status 0 when the connection fails. */
  send(method: string, path: string, body?: string | Buffer, type = 'application/json'): Promise<Sent> {
    const { hostname, port } = this.#url;
    const headers = {
      ...this.#headers,
      ...(body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    };
    return new Promise((resolve) => {
      const fail = () => resolve({ status: 0, bytes: 0 });
      const request = httpRequest({ hostname, port, path, method, headers, agent: this.#agent }, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        response.on('end', () => resolve({ status: response.statusCode!, bytes }));
        response.on('error', fail);
      });
      request.on('error', fail);
      request.end(body);
    });
  }
}

/** Returns the quantile of the values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
