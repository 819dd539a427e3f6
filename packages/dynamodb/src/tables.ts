/** The two tables: their description, creation and checks. */
import type { CreateTableCommandInput, TableDescription } from '@aws-sdk/client-dynamodb';
import { TidemarkError } from '@tidemark/core';
import { type ChainFormat, type EngineCall, NEWEST_CHAIN_FORMAT, sleep } from '@tidemark/core/engine';
import type { Client, TableKind } from './client.ts';
import { isMissing, translate } from './errors.ts';
import { joined, keyOf } from './keys.ts';

export const TABLES: readonly TableKind[] = ['log', 'records'];
/** The attribute with the time, in seconds, after which DynamoDB removes an item of `records`. */
export const TTL_ATTRIBUTE = 'e';
const ACTIVE_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;
/** Version of the layout of all items. */
const LAYOUT = '2';

/** Returns the description of a table, for `CreateTable` and for templates. */
export function tableInput(name: string): CreateTableCommandInput {
  return {
    TableName: name,
    AttributeDefinitions: [
      { AttributeName: 'p', AttributeType: 'B' },
      { AttributeName: 's', AttributeType: 'B' },
    ],
    KeySchema: [
      { AttributeName: 'p', KeyType: 'HASH' },
      { AttributeName: 's', KeyType: 'RANGE' },
    ],
    BillingMode: 'PAY_PER_REQUEST',
  };
}

/** Returns the description of a table, or `null` when it does not exist. */
export async function describe(client: Client, kind: TableKind): Promise<TableDescription | null> {
  try {
    const command = new client.sdk.DescribeTableCommand({ TableName: client.table(kind) });
    return (await client.manage((sdk) => sdk.send(command))).Table ?? null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw translate(error);
  }
}

/** Creates the missing tables with recovery and deletion protection, and waits until they are active. */
export async function createTables(client: Client): Promise<void> {
  await Promise.all(TABLES.map((kind) => createTable(client, kind)));
}

async function createTable(client: Client, kind: TableKind): Promise<void> {
  const { sdk } = client;
  const input = { ...tableInput(client.table(kind)), DeletionProtectionEnabled: !client.isEmulated };
  try {
    if ((await describe(client, kind)) === null)
      await client.manage((it) => it.send(new sdk.CreateTableCommand(input)));
  } catch (error) {
    // Another process is creating it.
    if ((error as Error).name !== 'ResourceInUseException') throw translate(error);
  }
  const until = Date.now() + ACTIVE_WITHIN_MS;
  while ((await describe(client, kind))?.TableStatus !== 'ACTIVE') {
    if (Date.now() > until)
      throw new TidemarkError('UNAVAILABLE', `The table ${client.table(kind)} is still being created; try again`);
    await sleep(LOOK_EVERY_MS);
  }
  const TableName = client.table(kind);
  if (kind === 'records') {
    const TimeToLiveSpecification = { AttributeName: TTL_ATTRIBUTE, Enabled: true };
    await ignoringRepeats(() =>
      client.manage((it) => it.send(new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }))),
    );
  }
  // Emulators have no recovery.
  if (!client.isEmulated) await enableRecovery(client, TableName, until);
}

/**
 * Enables point-in-time recovery. DynamoDB refuses that for some seconds after a table has become active, so the
 * request is repeated.
 */
export async function enableRecovery(client: Client, TableName: string, until: number): Promise<void> {
  const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
  const command = () => new client.sdk.UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification });
  for (;;) {
    try {
      return await ignoringRepeats(() => client.manage((it) => it.send(command())));
    } catch (error) {
      if (!isNotYet(error)) throw error;
      if (Date.now() > until)
        throw new TidemarkError('UNAVAILABLE', `Recovery of ${TableName} cannot be enabled yet; try again in a minute`);
      await sleep(LOOK_EVERY_MS);
    }
  }
}

/** Makes a change and ignores the error for a setting that already has the value, which DynamoDB refuses as invalid. */
async function ignoringRepeats(change: () => Promise<unknown>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (isNotYet(error)) throw error;
    if ((error as Error).name !== 'ValidationException') throw translate(error);
  }
}

function isNotYet(error: unknown): boolean {
  return (error as Error).name === 'ContinuousBackupsUnavailableException';
}

const FORMAT_KEY = keyOf(joined('format'), joined('format'));

/** The settings that are fixed when a store is first opened. */
export interface StoreFormat {
  shards: number;
  /** The newest chain format that writers may use (UPG-1). */
  chain: ChainFormat;
}

/** Reads the format of the store. Stores the format when the store is opened for the first time. */
export async function readFormat(client: Client, shards: number, call: EngineCall): Promise<StoreFormat> {
  const item = (await client.get('log', FORMAT_KEY, call)) ?? (await storeFormat(client, shards, call));
  if (item.v?.N !== LAYOUT)
    throw new TidemarkError('SCHEMA_MISMATCH', `The tables have layout ${item.v?.N}, this version knows ${LAYOUT}`);
  return { shards: Number(item.c!.N), chain: Number(item.h!.N) as ChainFormat };
}

async function storeFormat(client: Client, shards: number, call: EngineCall) {
  const Item = { ...FORMAT_KEY, v: { N: LAYOUT }, c: { N: String(shards) }, h: { N: String(NEWEST_CHAIN_FORMAT) } };
  const input = {
    Item,
    ConditionExpression: 'attribute_not_exists(#p)',
    ExpressionAttributeNames: { '#p': 'p' },
  };
  const outcome = await client.write({ table: 'log', input }, { isIn: () => false }, call);
  return outcome.done ? Item : outcome.item!;
}
