/**
 * Compares stored data with its indexes by reading every key under the prefix. A record or journal that is missing from
 * its index appears in no list, so only the keys themselves can reveal it. Each problem is checked twice, because
 * writers continue during the check.
 */
import type { DoctorFinding } from '@tidemark/core';
import type { JournalName, RecordName } from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import type { Connection } from './connection.ts';
import { HEAD, memberOf, parseHead, REWRITES, TOMBSTONE } from './journal.ts';
import { expiryMember, type Layout } from './layout.ts';
import type { Argument } from './protocol/encode.ts';
import type { Servers } from './servers.ts';
import { META, parseMeta } from './stored-record.ts';

const check = 'indexes';
const PAGE = '1000';
const NAMED = 5;

/** Sends a read to the server of a bucket. */
type Ask = (args: Argument[]) => Promise<unknown>;

export class IndexCheck {
  readonly #servers: Servers;
  readonly #commands: Commands;
  readonly #layout: Layout;

  constructor(servers: Servers, commands: Commands, layout: Layout) {
    this.#servers = servers;
    this.#commands = commands;
    this.#layout = layout;
  }

  /** Checks all stored data, or the data of one tenant. */
  async run(tenantId: string | null): Promise<DoctorFinding> {
    try {
      return await this.#examine(tenantId);
    } catch (error) {
      return { check, status: 'unknown', message: (error as Error).message };
    }
  }

  async #examine(tenantId: string | null): Promise<DoctorFinding> {
    const problems: string[] = [];
    let checked = 0;
    for (const master of this.#servers.masters())
      for await (const keys of keysOf(master, this.#layout.prefix)) {
        const found = await Promise.all(keys.map((key) => this.#problemOf(key, tenantId)));
        checked += found.filter((problem) => problem !== undefined).length;
        problems.push(...found.filter((problem) => typeof problem === 'string'));
      }
    if (problems.length === 0) return { check, status: 'ok', message: `the indexes name all of ${checked} keys` };
    const shown = problems.slice(0, NAMED).join('; ');
    return {
      check,
      status: 'fail',
      message: `${problems.length} of ${checked} keys: ${shown}${problems.length > NAMED ? '; …' : ''}`,
      fix: 'Write these again, or restore the server from a backup',
    };
  }

  /** Returns the problem of a key, `null` if it has none, or `undefined` if the key was not checked. */
  async #problemOf(key: string, tenantId: string | null): Promise<string | null | undefined> {
    const found = this.#layout.parse(key);
    if (!found || (tenantId !== null && found.tenantId !== tenantId)) return undefined;
    const look = () => ('name' in found ? this.#journalProblem(found) : this.#recordProblem(found));
    const problem = this.#isMisplaced(key, found) ? 'is not where it belongs' : (await look()) && (await look());
    return problem ? `${key} ${problem}` : null;
  }

  #isMisplaced(key: string, found: RecordName | JournalName): boolean {
    if (!('name' in found)) return key !== this.#layout.record(found);
    const { head, log } = this.#layout.journal(found);
    return key !== head && key !== log;
  }

  async #recordProblem(name: RecordName): Promise<string | null> {
    const bucket = this.#layout.bucketOfRecord(name);
    const ask: Ask = (args) => this.#commands.read(bucket, args, {});
    const meta = (await ask(['HGET', this.#layout.record(name), META])) as Buffer | null;
    // The record was removed in the meantime. If it lost only this field, the next read reports the damage.
    if (!meta) return null;
    if (!(await ask(['ZSCORE', this.#layout.names(bucket, name.space, name.tenantId), name.key])))
      return 'is a record that no list names';
    if (!(await ask(['ZSCORE', this.#layout.recordTenants(bucket, name.space), name.tenantId])))
      return 'belongs to a tenant that no list names';
    const expires = parseMeta(meta).expiresAt !== null;
    const expiring = this.#layout.shared(bucket, 'expiring');
    if (expires && !(await ask(['ZSCORE', expiring, expiryMember(name)]))) return 'expires, and no list says so';
    return null;
  }

  async #journalProblem(name: JournalName): Promise<string | null> {
    const { bucket, head: key, log } = this.#layout.journal(name);
    const ask: Ask = (args) => this.#commands.read(bucket, args, {});
    const [head, tombstone, rewrites] = (await ask(['HMGET', key, HEAD, TOMBSTONE, REWRITES])) as (Buffer | null)[];
    if (tombstone) return null;
    if (!head) return (await ask(['EXISTS', log])) === 1 ? 'has entries and no head' : null;
    const { tenantId, name: journal, space } = name;
    if (!(await ask(['ZSCORE', this.#layout.journals(bucket, space, tenantId), journal])))
      return 'is a journal that no list names';
    if (!(await ask(['ZSCORE', this.#layout.journalTenants(bucket, space), tenantId])))
      return 'belongs to a tenant that no list names';
    const { seq, createdAt } = parseHead(head, rewrites);
    if (Number(await ask(['XLEN', log])) < seq) return 'has fewer entries than its head says';
    if (space !== 'runs') return null;
    const run = { createdAt, tenantId, name: journal };
    const lists: [string, string][] = [
      [this.#layout.shared(bucket, 'run-list'), memberOf(run, undefined)],
      [this.#layout.tenants(bucket, 'run-list', tenantId), memberOf(run, tenantId)],
      [this.#layout.shared(bucket, 'run-names'), `${journal}\0${tenantId}`],
    ];
    for (const [list, member] of lists)
      if (!(await ask(['ZSCORE', list, member]))) return 'is a run that no list names';
    return null;
  }
}

/** Yields all keys of a server under the store's prefix, in pages. */
async function* keysOf(master: Connection, prefix: string): AsyncGenerator<string[], void, undefined> {
  const pattern = `${prefix.replace(/[\\*?[\]^-]/g, '\\$&')}:{b*}:*`;
  let cursor = '0';
  do {
    const [next, keys] = (await master.send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', PAGE])) as [Buffer, Buffer[]];
    cursor = next.toString();
    if (keys.length > 0) yield keys.map((key) => key.toString());
  } while (cursor !== '0');
}
