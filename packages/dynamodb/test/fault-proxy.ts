/**
 * A proxy in front of an emulator that injects what emulators never do: conflicts of transactions, throttling, internal
 * errors before and after the request was applied, lost replies, slow replies and batches that are done in part.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The fault of a request. `lost` and `failed late` are applied, but the caller does not learn it. */
export type Fault = 'conflict' | 'throttled' | 'failed' | 'failed late' | 'lost' | 'slow' | 'partly';

/** A reply of DynamoDB to a request that emulators do not know. */
export interface Reply {
  status: number;
  body: object;
}

/** Decides about each request by its operation, such as `PutItem`; `null` lets it pass. */
export type Decide = (operation: string, body: string) => Fault | Reply | null;

export interface FaultProxy {
  /** The URL of a store behind the proxy. */
  url: string;
  /** Replaces the decision for later requests. */
  decide: Decide;
  /** How often each fault was injected. */
  counts: Map<Fault, number>;
  stop(): Promise<void>;
}

const SLOW_MS = 120;

/** Starts a proxy in front of the endpoint in a store's URL. */
export async function startFaultProxy(url: string, decide: Decide = () => null): Promise<FaultProxy> {
  const target = new URL(url).searchParams.get('endpoint');
  if (!target) throw new Error(`${url} has no endpoint to put a proxy in front of`);
  const counts = new Map<Fault, number>();
  const proxy = { decide, counts };
  const server = createServer((request, response) => {
    handle(proxy, target, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(proxy, {
    url: `dynamodb://eu-west-1/?endpoint=${endpoint}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

/** Faults for random requests, repeatable by the seed. */
export function randomFaults(seed: number, share: number, faults: readonly Fault[]): Decide {
  let state = seed;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return (operation) => {
    if (/Table|Continuous|TimeToLive/.test(operation) || random() >= share) return null;
    return faults[Math.floor(random() * faults.length)]!;
  };
}

export const ALL_FAULTS: readonly Fault[] = [
  'conflict',
  'throttled',
  'failed',
  'failed late',
  'lost',
  'slow',
  'partly',
];

async function handle(
  proxy: Pick<FaultProxy, 'decide' | 'counts'>,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  const operation = String(request.headers['x-amz-target'] ?? '').split('.')[1] ?? '';
  const decision = proxy.decide(operation, body);
  if (decision !== null && typeof decision === 'object')
    return send(response, decision.status, JSON.stringify(decision.body));
  const fault = decision;
  if (fault) proxy.counts.set(fault, (proxy.counts.get(fault) ?? 0) + 1);
  const refusal = fault && refusalOf(fault, operation, body);
  if (refusal) return send(response, refusal.status, JSON.stringify(refusal.body));
  if (fault === 'slow') await sleep(SLOW_MS);
  const [sent, left] = fault === 'partly' ? divided(operation, body) : [body, null];
  const reply = await fetch(target, { method: 'POST', headers: headersOf(request), body: sent });
  const text = await reply.text();
  if (fault === 'lost') response.destroy();
  else if (fault === 'failed late') send(response, 500, JSON.stringify(INTERNAL));
  else
    send(
      response,
      reply.status,
      left && reply.status === 200 ? JSON.stringify({ ...JSON.parse(text), ...left }) : text,
    );
}

const INTERNAL = { __type: 'com.amazonaws.dynamodb.v20120810#InternalServerError', message: 'Injected' };

function refusalOf(fault: Fault, operation: string, body: string): Reply | null {
  if (fault === 'failed') return { status: 500, body: INTERNAL };
  if (fault === 'throttled') return refused('ProvisionedThroughputExceededException');
  if (fault !== 'conflict' || !/Put|Update|Delete|Transact/.test(operation)) return null;
  if (operation !== 'TransactWriteItems') return refused('TransactionConflictException');
  const { TransactItems } = JSON.parse(body) as { TransactItems: unknown[] };
  const CancellationReasons = TransactItems.map((_, at) => ({ Code: at === 0 ? 'TransactionConflict' : 'None' }));
  return refused('TransactionCanceledException', { CancellationReasons });
}

export function refused(name: string, more: object = {}): Reply {
  return { status: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'Injected', ...more } };
}

/** Leaves the last request of a batch undone, as DynamoDB does when a table is busy. */
function divided(operation: string, body: string): [sent: string, left: object | null] {
  if (!operation.startsWith('Batch')) return [body, null];
  const input = JSON.parse(body) as { RequestItems: Record<string, unknown> };
  const [[table, items]] = Object.entries(input.RequestItems) as [[string, unknown[] | { Keys: unknown[] }]];
  const all = Array.isArray(items) ? items : items.Keys;
  if (all.length < 2) return [body, null];
  const part = (some: unknown[]) => ({ [table]: Array.isArray(items) ? some : { ...items, Keys: some } });
  const left = part(all.slice(-1));
  const sent = JSON.stringify({ ...input, RequestItems: part(all.slice(0, -1)) });
  return [sent, Array.isArray(items) ? { UnprocessedItems: left } : { UnprocessedKeys: left }];
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const names = ['content-type', 'x-amz-target', 'authorization', 'x-amz-date'];
  return Object.fromEntries(names.map((name) => [name, String(headers[name] ?? '')]));
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
