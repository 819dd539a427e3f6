/**
 * Stores entries before the transaction that makes them visible. A stage of a new journal is registered in its head
 * first, so that an erasure finds what an interrupted writer left behind.
 */
import type { EngineCall, JournalEntry, JournalName } from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { keyOf, keyOfItem } from '../keys.ts';
import { groupsOf, newStage, stageItems } from './entries.ts';
import { headKey, markerKey, partitionOf } from './head.ts';
import type { JournalLists } from './lists.ts';

export interface Stage {
  id: Buffer;
  /** Whether the keys are stored as markers with the name of this stage. */
  hasKeys: boolean;
  keys: Item[];
}

/**
 * Registers a life that is about to be staged. Returns false when the journal exists, or has been removed with a
 * different tombstone.
 */
export async function registerLife(
  client: Client,
  lists: JournalLists,
  name: JournalName,
  life: Buffer,
  tombstone: string | null,
  call: EngineCall,
): Promise<boolean> {
  const isUnchanged = tombstone === null ? 'attribute_not_exists(t)' : 't = :t';
  const Update = {
    TableName: client.table('log'),
    Key: headKey(name),
    UpdateExpression: 'ADD v :v',
    ConditionExpression: `attribute_not_exists(q) AND ${isUnchanged}`,
    ExpressionAttributeValues: {
      ':v': { BS: [life] },
      ...(tombstone !== null && { ':t': { B: Buffer.from(tombstone) } }),
    },
  };
  return (await client.transact([{ Update }, ...lists.additions(name, null)], call)).done;
}

export async function stageEntries(
  client: Client,
  name: JournalName,
  life: Buffer,
  entries: readonly JournalEntry[],
  { withKeys }: { withKeys: boolean },
  call: EngineCall,
): Promise<Stage> {
  const id = newStage();
  const items = stageItems(name, life, id, groupsOf(entries));
  if (withKeys)
    for (const { key, seq } of entries)
      items.push({ ...keyOf(partitionOf(name), markerKey(life, key, id)), q: { N: String(seq) } });
  await client.putAll('log', items, call);
  return { id, hasKeys: withKeys, keys: items.map(keyOfItem) };
}

/** Removes a stage that no commit refers to. If this fails, its items stay invisible until the journal is removed. */
export async function discardStage(client: Client, stage: Stage | null, call: EngineCall): Promise<void> {
  if (stage) await client.deleteAll('log', stage.keys, call).catch(() => {});
}
