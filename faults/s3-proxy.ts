/** An HTTP proxy in front of an S3 server that injects faults into matching requests: see `Fault`. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `lose request`: the connection ends before the server has the request. `lose reply`: the server performs the request,
 * and the connection ends before the reply. `truncate`: the connection ends in the middle of the body. `alter`: the
 * server gets a body with one changed byte. `stall`: no reply arrives. An object is a reply that the proxy sends
 * itself.
 */
export type Fault = 'lose request' | 'lose reply' | 'truncate' | 'alter' | 'stall' | { status: number; code: string };

export interface Rule {
  fault: Fault;
  method?: string;
  /** A part of the URL. */
  url?: string;
  /** How many matching requests have the fault. Default 1. */
  times?: number;
}

/** Cut off in the middle, but late enough that a reader has begun. */
const TRUNCATED_AFTER = 100_000;

export class S3Proxy {
  readonly #target: URL;
  readonly #server: Server;
  readonly #rules: Required<Rule>[] = [];
  /** Requests that passed, with and without faults: `PUT /bucket/key`. */
  readonly seen: string[] = [];
  /** The headers of these requests. */
  readonly headers: IncomingHttpHeaders[] = [];
  /** The number of faults so far. */
  faults = 0;
  /** Called with each request before it is forwarded. */
  onRequest: (line: string) => void | Promise<void> = () => {};

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => void this.#handle(incoming, outgoing));
  }

  static async before(url: string): Promise<S3Proxy> {
    const proxy = new S3Proxy(new URL(url));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  inject({ fault, method = '', url = '', times = 1 }: Rule): void {
    this.#rules.push({ fault, method, url, times });
  }

  heal(): void {
    this.#rules.length = 0;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #faultOf(incoming: IncomingMessage): Fault | null {
    const rule = this.#rules.find(
      ({ method, url, times }) =>
        times > 0 && (method === '' || method === incoming.method) && incoming.url!.includes(url),
    );
    if (!rule) return null;
    rule.times--;
    this.faults++;
    return rule.fault;
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const line = `${incoming.method} ${incoming.url}`;
    this.seen.push(line);
    this.headers.push(incoming.headers);
    incoming.on('error', () => {});
    outgoing.on('error', () => {});
    await this.onRequest(line);
    const fault = this.#faultOf(incoming);
    if (fault === 'lose request') return void incoming.socket.destroy();
    if (fault === 'stall') return;
    if (fault !== null && typeof fault === 'object') return answer(incoming, outgoing, fault);
    this.#forward(incoming, outgoing, fault);
  }

  #forward(incoming: IncomingMessage, outgoing: ServerResponse, fault: Fault | null): void {
    const { hostname, port } = this.#target;
    const { method, url, headers } = incoming;
    const cut = () => void incoming.socket.destroy();
    // Keep the header Host, because it is signed.
    const forwarded = request({ hostname, port, method, path: url, headers }, (response) => {
      if (fault === 'lose reply') {
        response.resume();
        return void response.on('end', cut);
      }
      outgoing.writeHead(response.statusCode!, response.headers);
      let passed = 0;
      response.on('data', (data: Buffer) => {
        passed += data.length;
        outgoing.write(data);
        if (fault === 'truncate' && passed >= TRUNCATED_AFTER) cut();
      });
      response.on('end', () => (fault === 'truncate' ? cut() : outgoing.end()));
      response.on('error', cut);
    });
    forwarded.on('error', cut);
    let isAltered = fault !== 'alter';
    incoming.on('data', (data: Buffer) => {
      if (!isAltered) data[0]! ^= 1;
      isAltered = true;
      forwarded.write(data);
    });
    incoming.on('end', () => forwarded.end());
  }
}

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, code }: { status: number; code: string },
) {
  incoming.resume();
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}, says the proxy</Message></Error>`;
  incoming.on('end', () => {
    outgoing.writeHead(status, { 'content-type': 'application/xml' });
    outgoing.end(incoming.method === 'HEAD' ? undefined : body);
  });
}
