/**
 * Removes journals. One transaction ends the life of a journal and removes the journal from the lists. Its entries are
 * invisible from then on, and are deleted afterwards. The head names the lives to delete until that is done.
 */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { type EngineCall, type JournalName, type RemoveOptions, rewritten, seqConflict } from '@tidemark/core/engine';
import type { Item } from '../client.ts';
import { keyOfItem } from '../keys.ts';
import { HIGHEST, readPartition } from '../partitions.ts';
import { type Head, headKey, partitionOf } from './head.ts';
import { isListed } from './lists.ts';
import type { JournalParts } from './parts.ts';

/** The first bytes of the sort keys of commits, markers and stages. */
const KINDS = ['C', 'K', 'S'];

export class Remover {
  readonly #parts: JournalParts;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  async remove(
    name: JournalName,
    tombstone: string | null,
    { expectedSeq, expectedRewrites, keepsName, ...call }: RemoveOptions,
  ): Promise<number> {
    for (;;) {
      const head = await this.#parts.readHead(name, call);
      const { live, restoring } = head;
      const removed = live?.seq ?? restoring?.seq ?? 0;
      if (!live && (expectedSeq !== undefined || !restoring)) {
        // An earlier removal may have been interrupted.
        await this.#finish(name, head, head.tombstone, call).catch(() => {});
        return 0;
      }
      if (live && expectedSeq !== undefined && live.seq !== expectedSeq)
        throw seqConflict(name.name, expectedSeq, live.seq);
      if (live && expectedRewrites !== undefined && live.rewrites !== expectedRewrites)
        throw rewritten(name.name, live.rewrites);
      const doomed = [...head.doomed, live?.life ?? restoring!.life];
      if (!(await this.#end(name, head, { tombstone, keepsName: keepsName === true, doomed }, call))) continue;
      this.#parts.hints.journalChanged(name);
      // The removal itself is done. Entries that remain are invisible, and `forget` or the next removal deletes them.
      await this.#finish(name, { ...head, live: null, restoring: null, doomed }, tombstone, call).catch(() => {});
      return removed;
    }
  }

  async forget(name: JournalName, call: EngineCall): Promise<number> {
    for (let removed = 0; ; ) {
      const head = await this.#parts.readHead(name, call);
      const { live, restoring, staging } = head;
      const lives = [live?.life, restoring?.life, ...staging].filter((life) => life !== undefined);
      if (lives.length > 0) {
        const doomed = [...head.doomed, ...lives];
        const end = { tombstone: head.tombstone, keepsName: false, doomed };
        if (!(await this.#end(name, head, end, call))) continue;
        removed = live?.seq ?? restoring?.seq ?? 0;
        this.#parts.hints.journalChanged(name);
        continue;
      }
      await this.#finish(name, head, null, call);
      return removed;
    }
  }

  /** Ends the journal in the state that was read. Returns false when the journal has changed. */
  async #end(
    name: JournalName,
    head: Head,
    { tombstone, keepsName, doomed }: { tombstone: string | null; keepsName: boolean; doomed: readonly Buffer[] },
    call: EngineCall,
  ): Promise<boolean> {
    const { client, lists } = this.#parts;
    const { live, restoring, staging } = head;
    const values: Item = { ':o': { BS: [...doomed] } };
    const conditions: string[] = [];
    const sets = ['o = :o'];
    const removes = ['q', 'c', 'u', 'a', 'k', 'i', 'm', 'y', 'z'];
    if (live) {
      conditions.push('q = :q', 'i = :i', 'w = :w');
      Object.assign(values, { ':q': { N: String(live.seq) }, ':i': { B: live.life } });
      values[':w'] = { N: String(live.rewrites) };
    } else conditions.push('attribute_not_exists(q)');
    if (restoring) {
      conditions.push('y = :y', 'z = :z');
      Object.assign(values, { ':y': { B: restoring.life }, ':z': { N: String(restoring.seq) } });
    } else conditions.push('attribute_not_exists(y)');
    if (staging.length > 0 && staging.every((life) => doomed.includes(life))) {
      conditions.push('v = :v');
      values[':v'] = { BS: [...staging] };
      removes.push('v');
    }
    if (tombstone === null) removes.push('t', ...(live ? ['w'] : []));
    else {
      sets.push('t = :t');
      values[':t'] = { B: Buffer.from(tombstone) };
    }
    const Update = {
      TableName: client.table('log'),
      Key: headKey(name),
      UpdateExpression: `SET ${sets.join(', ')} REMOVE ${removes.join(', ')}`,
      ConditionExpression: conditions.join(' AND '),
      ExpressionAttributeValues: values,
    };
    const gone = live && isListed(name.space) ? lists.timeItems(name, live.createdAt) : [];
    if (isListed(name.space) && !keepsName) gone.push(lists.tenantItem(name));
    return (await client.transact([{ Update }, ...lists.removals(gone)], call)).done;
  }

  /** Deletes the entries of ended lives, then the head unless a tombstone stays. */
  async #finish(name: JournalName, head: Head, tombstone: string | null, call: EngineCall): Promise<void> {
    const { client, lists } = this.#parts;
    for (const life of head.doomed) await this.#deleteLife(name, life, call);
    const TableName = client.table('log');
    if (head.doomed.length > 0) {
      const Update = {
        TableName,
        Key: headKey(name),
        UpdateExpression: 'DELETE o :o',
        ConditionExpression: 'attribute_exists(o)',
        ExpressionAttributeValues: { ':o': { BS: [...head.doomed] } },
      };
      await client.transact([{ Update }], call);
    }
    if (tombstone !== null) return;
    const unused = ['q', 'y', 'v', 'o'].map((it) => `attribute_not_exists(${it})`).join(' AND ');
    const remove: TransactWriteItem = {
      Delete: { TableName, Key: headKey(name), ConditionExpression: unused },
    };
    const gone = [lists.nameItem(name)];
    if (isListed(name.space)) gone.push(lists.tenantItem(name));
    // The transaction is refused when a new journal of this name has begun, because that journal needs all these items.
    await client.transact([remove, ...lists.removals(gone)], call);
  }

  async #deleteLife(name: JournalName, life: Buffer, call: EngineCall): Promise<void> {
    const { client } = this.#parts;
    for (const kind of KINDS) {
      const prefix = Buffer.concat([Buffer.from(kind), life]);
      const range = { from: prefix, to: Buffer.concat([prefix, HIGHEST, HIGHEST, HIGHEST]), keysOnly: true };
      for await (const items of readPartition(client, 'log', partitionOf(name), range, call))
        await client.deleteAll('log', items.map(keyOfItem), call);
    }
  }
}
