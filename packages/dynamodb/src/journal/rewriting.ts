/**
 * Replaces the body of one entry. Every rewrite changes the head, so concurrent rewrites never overwrite each other.
 */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { EngineCall, JournalEntry, JournalName } from '@tidemark/core/engine';
import type { Item } from '../client.ts';
import { keyOfItem } from '../keys.ts';
import { commitItem, fitsInCommit, groupItems } from './entries.ts';
import { type Head, headKey } from './head.ts';
import type { JournalParts } from './parts.ts';
import { discardStage, stageEntries } from './staging.ts';

/** Replaces a body. Returns false when the entry is missing or its body is not `from`. */
export async function rewriteEntry(
  parts: JournalParts,
  name: JournalName,
  seq: number,
  { from, to }: { from: string; to: string },
  call: EngineCall,
): Promise<boolean> {
  const { client, entries } = parts;
  for (;;) {
    const head = await parts.readHead(name, call);
    const life = head.live?.life;
    const commit = life && (await entries.commitAt(name, life, seq, call));
    if (!commit) return false;
    const stage = commit.g ? Buffer.from(commit.g.B!) : null;
    const group = stage && (await entries.groupAt(name, life, stage, seq, call));
    const before = group?.entries ?? (stage ? [] : await entries.entriesOf(name, life, commit, ALL, call));
    if (before.find((entry) => entry.seq === seq)?.body !== from) return false;
    const after = before.map((entry) => (entry.seq === seq ? { ...entry, body: to } : entry));
    const TableName = client.table('log');
    const headChange = { Update: { TableName, ...headUpdate(name, head) } };
    if (stage) {
      const items = groupItems(name, life, stage, after);
      if ((await client.transact([headChange, ...replacing(TableName, group!.items, items)], call)).done) return true;
    } else if (fitsInCommit(after)) {
      const Put = { TableName, Item: commitItem(name, life, after, null) };
      if ((await client.transact([headChange, { Put }], call)).done) return true;
    } else if (await restage(parts, name, life, after, headChange, call)) return true;
  }
}

const ALL = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

/** Moves a commit that no longer fits into an item to a stage. */
async function restage(
  { client }: JournalParts,
  name: JournalName,
  life: Buffer,
  entries: readonly JournalEntry[],
  headChange: TransactWriteItem,
  call: EngineCall,
): Promise<boolean> {
  const stage = await stageEntries(client, name, life, entries, { withKeys: false }, call);
  const Put = { TableName: client.table('log'), Item: commitItem(name, life, entries, stage.id) };
  const { done } = await client.transact([headChange, { Put }], call);
  if (!done) await discardStage(client, stage, call);
  return done;
}

/** Returns the actions that replace the items of a group, whose number may change. */
function replacing(TableName: string, before: readonly Item[], after: readonly Item[]): TransactWriteItem[] {
  const puts = after.map((Item) => ({ Put: { TableName, Item } }));
  const left = before.slice(after.length).map((it) => ({ Delete: { TableName, Key: keyOfItem(it) } }));
  return [...puts, ...left];
}

function headUpdate(name: JournalName, { live }: Head) {
  return {
    Key: headKey(name),
    UpdateExpression: 'SET w = :n',
    ConditionExpression: 'i = :i AND w = :w',
    ExpressionAttributeValues: {
      ':i': { B: live!.life },
      ':w': { N: String(live!.rewrites) },
      ':n': { N: String(live!.rewrites + 1) },
    },
  };
}
