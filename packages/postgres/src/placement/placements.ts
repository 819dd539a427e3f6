/**
 * The placements as one process knows them. Data from the directory is valid for a short lease: a mover waits for
 * as long before it switches a tenant. While a tenant is being switched there is no lease for it, and every result from
 * its server is confirmed with the directory afterwards.
 */
import { LruMap } from '@tidemark/core/engine';
import type { Directory, Home, Move } from './directory.ts';

/** How long a process may trust what it has read from the directory. */
export const LEASE_MS = 250;
const MAX_HOMES = 100_000;

/** Chooses the server of a tenant that has none yet. */
export type ChooseServer = (tenantId: string) => number;

const HIDDEN_HERE: ReadonlySet<string> = new Set();

export class Placements {
  readonly directory: Directory;
  readonly #choose: ChooseServer;
  readonly #homes = new LruMap<string, Home>(MAX_HOMES);
  readonly #moves = new Map<number, Move>();
  /** The tenants whose rows on a server are copies that do not count. */
  #hidden = new Map<number, Set<string>>();
  #switching = new Set<string>();
  #version = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(directory: Directory, choose: ChooseServer) {
    this.directory = directory;
    this.#choose = choose;
  }

  /** Returns the known home of a tenant at once if the lease holds. */
  known(tenantId: string): Home | undefined {
    return this.#holds() ? this.#homes.peek(tenantId) : undefined;
  }

  /** Whether it is known without a query that a tenant is still on that server. */
  holdsFor(tenantId: string, home: Home): boolean {
    return this.#homes.peek(tenantId) === home && !this.#switching.has(tenantId) && this.#holds();
  }

  /** Returns the home of a tenant. If it has none, places it with `toWrite`, and otherwise returns version 0. */
  async homeOf(tenantId: string, toWrite: boolean): Promise<Home> {
    if (!this.#holds()) await this.refresh();
    const known = this.#homes.peek(tenantId);
    if (known) return known;
    const before = this.#version;
    const stored =
      (await this.directory.homesOf([tenantId])).get(tenantId) ??
      (toWrite ? await this.directory.place(tenantId, this.#choose(tenantId)) : undefined);
    if (!stored) return { server: this.#choose(tenantId), version: 0 };
    // Changes that were read in the meantime are kept for known tenants only, so this may already be outdated.
    if (this.#version === before) this.#homes.set(tenantId, stored);
    return stored;
  }

  /** Whether a tenant was still on that server when a call ended, by the clock of `performance.now()`. */
  async wasHome(tenantId: string, home: Home, endedAt: number): Promise<boolean> {
    if (home.version === 0) return !(await this.directory.homesOf([tenantId])).has(tenantId);
    for (;;) {
      const known = this.#homes.peek(tenantId);
      if (!known) return (await this.directory.homesOf([tenantId])).get(tenantId)?.version === home.version;
      if (known.version !== home.version) return false;
      if (this.#askedAt + (this.#switching.has(tenantId) ? 0 : LEASE_MS) >= endedAt) return true;
      await this.refresh();
    }
  }

  /** Returns a mark of the current state, for `unchanged`. */
  async mark(): Promise<number> {
    if (!this.#holds()) await this.refresh();
    return this.#version;
  }

  /** Whether no tenant has been switched since a mark, as of the end of a call. */
  async unchanged(mark: number, endedAt: number): Promise<boolean> {
    while (this.#askedAt + (this.#switching.size > 0 ? 0 : LEASE_MS) < endedAt) await this.refresh();
    if (mark === this.#version) return true;
    return !this.switched.some((move) => (move as SeenMove).seenAt > mark);
  }

  /** The moves that were switched, in order. */
  get switched(): Move[] {
    return [...this.#moves.values()].filter(({ toStart }) => toStart !== null).sort((a, b) => a.no - b.no);
  }

  /** The tenants with rows on a server that do not count, because the tenant is not or no longer there. */
  hiddenOn(server: number): ReadonlySet<string> {
    return this.#hidden.get(server) ?? HIDDEN_HERE;
  }

  get openMoves(): Move[] {
    return [...this.#moves.values()].filter(isOpen);
  }

  /** Reads the changes since the last read. Concurrent calls share one query. */
  async refresh(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const askedAt = performance.now();
    const { version, homes, moves } = await this.directory.news(this.#version);
    for (const { tenant, home } of homes) if (this.#homes.has(tenant)) this.#homes.set(tenant, home);
    for (const move of moves) this.#moves.set(move.no, { ...move, seenAt: version } as SeenMove);
    if (moves.length > 0) {
      this.#hidden = hiddenBy(this.openMoves);
      this.#switching = new Set(
        this.openMoves.filter(({ phase }) => phase === 'switching').map(({ tenant }) => tenant),
      );
    }
    this.#version = version;
    this.#askedAt = askedAt;
  }

  #holds(): boolean {
    return performance.now() <= this.#askedAt + LEASE_MS;
  }
}

/** A move, with the version of the directory with which this process last read it. */
interface SeenMove extends Move {
  seenAt: number;
}

function isOpen({ phase }: Move): boolean {
  return phase !== 'done' && phase !== 'undone';
}

function hiddenBy(open: readonly Move[]): Map<number, Set<string>> {
  const hidden = new Map<number, Set<string>>();
  for (const { tenant, from, to, phase } of open) {
    const server = phase === 'switched' ? from : to;
    hidden.set(server, (hidden.get(server) ?? new Set()).add(tenant));
  }
  return hidden;
}
