/**
 * DynamoDB: our store compared with a bare `TransactWriteItems` of the same items, sent by the AWS SDK to the same
 * emulator. The emulator takes part of both cores, so the CPU of this process per append is reported too.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  type AttributeValue,
  CreateTableCommand,
  DynamoDBClient,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { open } from 'tidemark';
import { startOwnServer } from '../scripts/servers/index.ts';
import { measureUnits } from './dynamodb-units.ts';
import { appendAll, makeEvents, type WholeEvent } from './events.ts';
import { atLeast, atMost, compareRates, type Figure, median } from './measure.ts';

const CALLERS = 32;
/** Enough runs that none of them gets more events than its head can hold keys. */
const RUNS = 2_000;
const ROUND = 1_600;
const ROUNDS = 9;
const TABLE = 'bench-bare';
const OPTIONS = { timeoutMs: 60_000 };

type Item = Record<string, AttributeValue>;

/** The head of a run, as the bare writer knows it. */
interface BareHead {
  seq: number;
  life: Buffer;
  /** Settles when the last append of the run has been stored. */
  last: Promise<void>;
}

/** Appends events with the same transactions as the store, but without chain, codec, validation and outcomes. */
class BareWriter {
  readonly #client: DynamoDBClient;
  readonly #heads = new Map<string, BareHead>();
  readonly #state = randomBytes(150);

  constructor(endpoint: string) {
    const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
    this.#client = new DynamoDBClient({ region: 'eu-west-1', endpoint, credentials, maxAttempts: 1 });
  }

  async createTable(): Promise<void> {
    await this.#client.send(
      new CreateTableCommand({
        TableName: TABLE,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: ['p', 's'].map((AttributeName) => ({ AttributeName, AttributeType: 'B' })),
        KeySchema: [
          { AttributeName: 'p', KeyType: 'HASH' },
          { AttributeName: 's', KeyType: 'RANGE' },
        ],
      }),
    );
  }

  /** Appends after the last append of the run, because each transaction is conditional on the head. */
  append(event: WholeEvent): Promise<void> {
    const head = this.#heads.get(event.runId) ?? { seq: 0, life: randomBytes(8), last: Promise.resolve() };
    this.#heads.set(event.runId, head);
    head.last = head.last.then(() => this.#send(event, head));
    return head.last;
  }

  async #send(event: WholeEvent, head: BareHead): Promise<void> {
    const run = Buffer.from(`j\0runs\0${event.tenantId}\0${event.runId}`);
    const seq = head.seq + 1;
    const key = createHash('sha256').update(event.eventId).digest().subarray(0, 12);
    const time = { N: String(Date.now()) };
    const body = Buffer.concat([Buffer.from(event.eventId), Buffer.from(JSON.stringify(event)), this.#state]);
    const place = Buffer.concat([key.subarray(0, 4), head.life, sequence(seq)]);
    const position = JSON.stringify([event.tenantId, event.runId, head.life.toString('hex'), seq, 1, time.N, 0]);
    const values: Item = {
      ':q': { N: String(seq) },
      ':u': time,
      ':a': { B: this.#state },
      ':i': { B: head.life },
      ':x': { BS: [key] },
      ':y': { B: key },
    };
    const sets = 'SET q = :q, u = :u, a = :a, i = :i';
    const isNew = 'NOT contains(k, :y)';
    const condition = head.seq === 0 ? 'attribute_not_exists(q)' : 'q = :k AND i = :i AND u <= :u';
    if (head.seq > 0) values[':k'] = { N: String(head.seq) };
    await this.#client.send(
      new TransactWriteItemsCommand({
        ClientRequestToken: crypto.randomUUID(),
        TransactItems: [
          {
            Update: {
              TableName: TABLE,
              Key: { p: { B: run }, s: { B: Buffer.from('H') } },
              UpdateExpression: `${sets} ADD k :x`,
              ConditionExpression: `attribute_not_exists(t) AND ${condition} AND ${isNew}`,
              ExpressionAttributeValues: values,
              ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
            },
          },
          put({ p: { B: run }, s: { B: Buffer.concat([Buffer.from('C'), head.life, sequence(seq)]) }, b: { B: body } }),
          put({ p: { B: Buffer.from(`p\0runs\0${place[0]! % 4}`) }, s: { B: place }, b: { S: position } }),
        ],
      }),
    );
    head.seq = seq;
  }

  close(): void {
    this.#client.destroy();
  }
}

function put(Item: Item) {
  return { Put: { TableName: TABLE, Item } };
}

function sequence(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

export async function benchDynamodb(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const server = await startOwnServer('dynamodb');
  const bare = new BareWriter(new URL(server.url).searchParams.get('endpoint')!);
  const store = await open(`${server.url}&prefix=bench`, OPTIONS);
  try {
    await bare.createTable();
    const rounds = quick ? 3 : ROUNDS;
    const cpu = { ours: [] as number[], raw: [] as number[] };
    // Rounds continue the same runs, whose first events are stored beforehand, because first appends write more items.
    let next = { ours: 0, raw: 0 };
    const eventsOf = (who: 'ours' | 'raw', count: number) => {
      const from = next[who];
      next = { ...next, [who]: from + count };
      return makeEvents(count, (index) => `run-${(from + index) % RUNS}`);
    };
    const roundOf = (who: 'ours' | 'raw', append: (event: WholeEvent) => Promise<unknown>, count: number) => () => {
      const events = eventsOf(who, count);
      return async () => {
        const began = process.cpuUsage();
        const units = await appendAll((event) => append(event as WholeEvent), events, CALLERS);
        const { user, system } = process.cpuUsage(began);
        cpu[who].push((user + system) / units);
        return units;
      };
    };
    const ours = (event: WholeEvent) => store.runs.appendEvent(event);
    const raw = (event: WholeEvent) => bare.append(event);
    report(`dynoxide ${server.version}: beginning ${RUNS} runs`);
    await roundOf('ours', ours, RUNS)()();
    await roundOf('raw', raw, RUNS)()();
    cpu.ours.length = cpu.raw.length = 0;
    report(`appends to ${RUNS} runs`);
    const rates = await compareRates(roundOf('ours', ours, ROUND), roundOf('raw', raw, ROUND), rounds);
    const costs = { ours: median(cpu.ours), raw: median(cpu.raw) };
    return [
      atLeast(0.6, `append, ${CALLERS} in flight`, 'events/s', rates),
      atMost(2, `CPU of an append, ${CALLERS} in flight`, 'µs', costs),
      ...(await measureUnits(server.url, quick ? 10_000 : 100_000, report)),
    ];
  } finally {
    await store.close();
    bare.close();
    await server.stop();
  }
}
