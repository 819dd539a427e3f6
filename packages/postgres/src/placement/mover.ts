/**
 * Moves a tenant to another server while others write: copies it, freezes it, copies what has changed since, and
 * switches. A move is decided by the old server's fence. Before that it can be undone; afterwards, every process that
 * encounters the fence completes it. Only one process at a time performs a move; another can take over when its lease
 * has ended.
 */
import { randomUUID } from 'node:crypto';
import { TidemarkError } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { copyTables, eraseRows, type Passage, type TenantTable, tenantTables } from './copy-rows.ts';
import { copyRuns } from './copy-runs.ts';
import type { Directory, Move } from './directory.ts';
import { decide, endOfFeed, endReceiving, findFence, freeze, lost, receive, thaw } from './fences.ts';
import type { MoveOptions, MoveProgress, MoveReport } from './placement.ts';
import { LEASE_MS } from './placements.ts';
import type { PlacedServer } from './servers.ts';

const MOVER_LEASE_MS = 15_000;
const RENEW_MS = 4_000;
const DEFAULT_PAUSE_MS = 5_000;
const DEFAULT_KEPT_MS = 5_000;
const MAX_COPIES = 10;
const MAX_FREEZES = 5;
/** A copy that changed at most this many rows is followed by the freeze. */
const FEW_CHANGES = 500;
/** Leases end by the clock of each process, which may run a little slower. */
const LEASE_MARGIN_MS = 50;

export class Mover {
  readonly #servers: ReadonlyMap<number, PlacedServer>;
  readonly #directory: Directory;
  readonly #lease: MoverLease;
  readonly #options: MoveOptions;
  readonly #move: Move;
  readonly #report: MoveReport;
  readonly #passage: Passage;
  #tables: ReadonlyMap<string, TenantTable> = new Map();

  constructor(
    servers: ReadonlyMap<number, PlacedServer>,
    directory: Directory,
    lease: MoverLease,
    move: Move,
    options: MoveOptions,
  ) {
    this.#servers = servers;
    this.#directory = directory;
    this.#lease = lease;
    this.#move = move;
    this.#options = options;
    const [from, to] = [servers.get(move.from)!, servers.get(move.to)!];
    this.#passage = { from, to, tenant: move.tenant, no: move.no, mover: lease.mover, check: () => this.#check() };
    this.#report = { tenantId: move.tenant, from: from.name, to: to.name, events: 0, rows: 0, runs: 0, pausedMs: 0 };
  }

  async run(): Promise<MoveReport> {
    const { from } = this.#passage;
    this.#tables = await tenantTables(from);
    const fence = await findFence(from, this.#move.tenant);
    const isDecided = fence?.state === 'moved' && fence.move === this.#move.no;
    if (this.#move.phase !== 'switched' && !isDecided) await this.#copyAndSwitch();
    await complete(this.#servers, this.#directory, this.#move.no);
    await this.#removeOld();
    return this.#report;
  }

  /** Ends a move that is not decided: the tenant stays. */
  async undo(): Promise<void> {
    const { from, to, tenant, no } = this.#passage;
    this.#tables = await tenantTables(from);
    await thaw(from, this.#passage);
    const fence = await findFence(from, tenant);
    if (fence?.state === 'moved' && fence.move === no)
      throw new TidemarkError('CONFLICT', `The tenant has been switched to ${to.name}; resume the move to finish it`, {
        current: 'switched',
      });
    await receive(to, this.#passage);
    await eraseRows(to, this.#passage, 'incoming', this.#tables);
    await endReceiving(to, this.#passage, 'moved');
    await setPhase(this.#directory, this.#passage, 'undone', ['copying', 'switching']);
  }

  async #copyAndSwitch(): Promise<void> {
    const { from, to } = this.#passage;
    await thaw(from, this.#passage);
    await receive(to, this.#passage);
    for (let copies = 1; copies <= MAX_COPIES; copies++) {
      if ((await this.#copy()) < FEW_CHANGES) break;
    }
    this.#progress('verifying');
    await this.#verify();
    await setPhase(this.#directory, this.#passage, 'switching', ['copying', 'switching']);
    // No process still holds a lease from before the phase.
    await sleep(LEASE_MS + LEASE_MARGIN_MS, this.#options.signal);
    for (let freezes = 1; ; freezes++) {
      // Changes made during the last copy are copied before the pause.
      await this.#copy();
      this.#progress('switching');
      if (await this.#freezeAndDecide()) return;
      if (freezes === MAX_FREEZES)
        throw new TidemarkError(
          'TIMEOUT',
          `The changes of tenant ${this.#move.tenant} could not be copied within maxPauseMs; increase it, or move when fewer write, and resume`,
        );
    }
  }

  async #freezeAndDecide(): Promise<boolean> {
    const { from, to } = this.#passage;
    const maxPauseMs = this.#options.maxPauseMs ?? DEFAULT_PAUSE_MS;
    const began = performance.now();
    await freeze(from, this.#passage, maxPauseMs);
    let isDecided = false;
    try {
      // Twice: the second copy shows that both servers have the same.
      while ((await this.#copy(true)) > 0) if (performance.now() - began > maxPauseMs) return false;
      await raiseSequences(from, to);
      const [fromEnd, toStart] = [await endOfFeed(from), await endOfFeed(to)];
      this.#check();
      isDecided = await decide(from, this.#passage, { fromEnd, toStart });
      if (isDecided) await complete(this.#servers, this.#directory, this.#move.no);
      return isDecided;
    } finally {
      // The reply was lost. The fence shows whether the move is decided, and a thaw changes only a frozen fence.
      if (!isDecided) await thaw(from, this.#passage).catch(() => {});
      this.#report.pausedMs += performance.now() - began;
    }
  }

  async #copy(isFrozen = false): Promise<number> {
    const { runs, events } = await copyRuns(this.#passage, this.#tables);
    const rows = await copyTables({ ...this.#passage, isFrozen }, this.#tables);
    this.#report.events += events;
    this.#report.rows += rows;
    this.#report.runs += runs.length;
    this.#progress('copying');
    return runs.length + events + rows;
  }

  /** Verifies the chain of every copied run. A run that is also damaged on the old server is copied unchanged. */
  async #verify(): Promise<void> {
    const { from, to, tenant } = this.#passage;
    const call = { timeoutMs: 600_000, signal: this.#options.signal };
    for (let cursor: string | undefined; ; ) {
      const view = to.store.forTenant(tenant);
      const page = await view.runs.listRuns({
        ...call,
        owner: 'any',
        limit: 1_000,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const { runId } of page.items) {
        this.#check();
        // A snapshot may already be newer than the copied events; rows are compared one by one.
        const { problem } = await view.runs.verify(runId, call);
        if (!problem) continue;
        const before = await from.store
          .forTenant(tenant)
          .runs.verify(runId, call)
          .catch(() => null);
        if (before && !before.problem)
          throw new TidemarkError('CORRUPT_EVENT', `The copy of a run does not match its chain: ${problem.reason}`, {
            runId,
          });
      }
      if (page.next === undefined) return;
      cursor = page.next;
    }
  }

  async #removeOld(): Promise<void> {
    this.#progress('removing');
    await sleep(this.#options.keepOldMs ?? DEFAULT_KEPT_MS, this.#options.signal);
    this.#check();
    await eraseRows(this.#passage.from, this.#passage, 'moved', this.#tables);
    await setPhase(this.#directory, this.#passage, 'done', ['switched']);
    this.#progress('done');
  }

  #check(): void {
    this.#options.signal?.throwIfAborted();
    this.#lease.check();
  }

  #progress(step: MoveProgress['step']): void {
    this.#options.onProgress?.({ step, copied: this.#report.events + this.#report.rows });
  }
}

/** The right to perform a move, renewed while the process performs it. */
export class MoverLease {
  readonly mover: string;
  readonly #timer: NodeJS.Timeout;
  readonly #directory: Directory;
  readonly #no: number;
  #until: number;

  private constructor(directory: Directory, no: number, mover: string, askedAt: number) {
    this.mover = mover;
    this.#directory = directory;
    this.#no = no;
    this.#until = askedAt + MOVER_LEASE_MS;
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), RENEW_MS).unref();
  }

  /** Records a new move and returns it with its lease. */
  static async begin(directory: Directory, tenant: string, from: number, to: number): Promise<[MoverLease, Move]> {
    const [mover, askedAt] = [randomUUID(), performance.now()];
    const no = await directory.change(async (client, version) => {
      const [home] = await directory.run<{ server: number }>(
        client,
        'SELECT server FROM @placements WHERE tenant = $1',
        [tenant],
      );
      const open = await directory.run(client, `SELECT 1 FROM @tenant_moves WHERE tenant = $1 AND ${IS_OPEN}`, [
        tenant,
      ]);
      if (home?.server !== from || open.length > 0) throw lost(tenant);
      const [row] = await directory.run<{ no: number }>(
        client,
        `INSERT INTO @tenant_moves (tenant, from_server, to_server, phase, mover, mover_until, started_at, version)
         VALUES ($1, $2, $3, 'copying', $4, @tidemark_now() + ${MOVER_LEASE_MS}, @tidemark_now(), $5) RETURNING no`,
        [tenant, from, to, mover, version],
      );
      return row!.no;
    });
    return [new MoverLease(directory, no, mover, askedAt), (await directory.findMove(no))!];
  }

  /** Takes over a move that no process holds the lease of. */
  static async takeOver(directory: Directory, no: number): Promise<[MoverLease, Move]> {
    const [mover, askedAt] = [randomUUID(), performance.now()];
    const taken = await directory.change((client) =>
      directory.run(
        client,
        `UPDATE @tenant_moves SET mover = $2, mover_until = @tidemark_now() + ${MOVER_LEASE_MS}
         WHERE no = $1 AND mover_until <= @tidemark_now() AND ${IS_OPEN} RETURNING 1`,
        [no, mover],
      ),
    );
    const move = await directory.findMove(no);
    if (taken.length === 0 || !move)
      throw new TidemarkError('CONFLICT', 'Another process is making this move, or was a moment ago; try again later', {
        current: move?.phase,
        retryAfterMs: MOVER_LEASE_MS,
      });
    return [new MoverLease(directory, no, mover, askedAt), move];
  }

  /** Throws unless the lease holds. */
  check(): void {
    if (performance.now() >= this.#until) throw lost(`number ${this.#no}`);
  }

  /** Lets another process take over at once. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#set('0').catch(() => {});
  }

  async #renew(): Promise<void> {
    const askedAt = performance.now();
    const renewed = await this.#set(`@tidemark_now() + ${MOVER_LEASE_MS}`);
    this.#until = renewed ? askedAt + MOVER_LEASE_MS : Number.NEGATIVE_INFINITY;
  }

  async #set(until: string): Promise<boolean> {
    const sql = `UPDATE @tenant_moves SET mover_until = ${until} WHERE no = $1 AND mover = $2 RETURNING 1`;
    return this.#directory.change(
      async (client) => (await this.#directory.run(client, sql, [this.#no, this.mover])).length > 0,
    );
  }
}

const IS_OPEN = "phase IN ('copying', 'switching', 'switched')";

async function setPhase(
  directory: Directory,
  { tenant, no, mover }: Passage,
  phase: Move['phase'],
  from: readonly Move['phase'][],
): Promise<void> {
  const changed = await directory.change((client, version) =>
    directory.run(
      client,
      `UPDATE @tenant_moves SET phase = $2, version = $3
       WHERE no = $1 AND phase = ANY ($4) AND mover = $5 RETURNING 1`,
      [no, phase, version, from, mover],
    ),
  );
  if (changed.length === 0) throw lost(tenant);
}

/** Completes a decided move: admits writers on the new server, then records it. Any process may do it, any number of times. */
export async function complete(
  servers: ReadonlyMap<number, PlacedServer>,
  directory: Directory,
  no: number,
): Promise<void> {
  const move = await directory.findMove(no);
  if (!move || move.phase === 'done' || move.phase === 'undone' || move.phase === 'switched') return;
  const [from, to] = [servers.get(move.from)!, servers.get(move.to)!];
  const fence = await findFence(from, move.tenant);
  if (fence?.state !== 'moved' || fence.move !== no) return;
  await endReceiving(to, move, 'home');
  await directory.change(async (client, version) => {
    const switched = await directory.run(
      client,
      `UPDATE @tenant_moves SET phase = 'switched', from_end = $2, to_start = $3, version = $4
       WHERE no = $1 AND phase IN ('copying', 'switching') RETURNING 1`,
      [no, fence.fromEnd, fence.toStart, version],
    );
    if (switched.length === 0) return;
    await directory.run(client, 'UPDATE @placements SET server = $2, version = $3 WHERE tenant = $1', [
      move.tenant,
      move.to,
      version,
    ]);
  });
}

const SEQUENCES = 'SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = $1';
/** Sequences that count something of their server and not rows of tenants. */
const OWN_SEQUENCES = ['run_releases', 'tenant_moves_no_seq'];
const SEQUENCE_MARGIN = 100_000;

/** Makes the new server issue higher numbers than the old one has, so that revisions and orders of arrival continue. */
async function raiseSequences(from: PlacedServer, to: PlacedServer): Promise<void> {
  const read = async ({ pool, dialect }: PlacedServer) => {
    const { rows } = await pool.query(SEQUENCES, [dialect.schema]);
    return new Map(rows.map(({ name, last }) => [name as string, Number(last ?? 0)]));
  };
  const [old, now] = [await read(from), await read(to)];
  for (const [name, last] of old) {
    if (OWN_SEQUENCES.includes(name) || last <= (now.get(name) ?? 0)) continue;
    const enough = last + SEQUENCE_MARGIN;
    // Checks again in the statement itself: after a stall, the new server may have issued higher numbers.
    await to.pool.query(
      to.dialect.script(`SELECT setval('@${name}', ${enough}) FROM @${name} WHERE last_value < ${enough}`),
    );
  }
}
