/**
 * Sends the calls of a tenant to its server, and confirms afterwards that the tenant was still there. A call during a
 * move is retried on the new server; the keys in a write make that safe.
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import { type Engine, type EngineCall, firstAfter } from '@tidemark/core/engine';
import { isFenced } from '../errors.ts';
import type { PostgresRuns } from '../runs.ts';
import type { Home } from './directory.ts';
import type { Placements } from './placements.ts';

/** A server of a placed store. */
export interface Member {
  ordinal: number;
  name: string;
  engine: Engine & Required<Pick<Engine, 'runs' | 'kv' | 'agents' | 'artifacts' | 'tenancy'>>;
  runs: PostgresRuns;
}

/** A server, and the tenants whose rows on it do not count. */
export interface MemberView {
  member: Member;
  hidden: ReadonlySet<string>;
}

const MAX_TRIES = 5;

/** A call that ended on the server where its tenant was. */
interface Attempt<T> {
  home: Home;
  result: T | undefined;
  failure: unknown;
}

export class Routes {
  readonly members: readonly Member[];
  readonly placements: Placements;
  /** Completes a move that was decided on a server and not yet recorded in the directory. */
  readonly #complete: (moveNo: number) => Promise<void>;
  readonly #byOrdinal: ReadonlyMap<number, Member>;

  constructor(members: readonly Member[], placements: Placements, complete: (moveNo: number) => Promise<void>) {
    this.members = members;
    this.placements = placements;
    this.#complete = complete;
    this.#byOrdinal = new Map(members.map((member) => [member.ordinal, member]));
  }

  /** The server with the directory, the quarantines and the clock. */
  get first(): Member {
    return this.members[0]!;
  }

  member(ordinal: number): Member {
    const member = this.#byOrdinal.get(ordinal);
    if (member) return member;
    throw new TidemarkError(
      'UNAVAILABLE',
      `The directory places tenants on server number ${ordinal}, which is not among \`servers\`: name all servers`,
    );
  }

  read<T>(tenantId: string, call: EngineCall, op: (member: Member) => Promise<T>): Promise<T> {
    return this.#run(tenantId, false, call, op);
  }

  write<T>(tenantId: string, call: EngineCall, op: (member: Member) => Promise<T>): Promise<T> {
    return this.#run(tenantId, true, call, op);
  }

  /** Not an async function, because every call passes through it and the lease nearly always holds. */
  #run<T>(tenantId: string, isWrite: boolean, call: EngineCall, op: (member: Member) => Promise<T>): Promise<T> {
    const home = this.placements.known(tenantId);
    const member = home && this.#byOrdinal.get(home.server);
    if (!member) return this.#runCarefully(tenantId, isWrite, call, op, null);
    return op(member).then(
      (result) =>
        this.placements.holdsFor(tenantId, home)
          ? result
          : this.#runCarefully(tenantId, isWrite, call, op, { home, result, failure: undefined }),
      (failure: unknown) => this.#runCarefully(tenantId, isWrite, call, op, { home, result: undefined, failure }),
    );
  }

  /** Runs a call until its result is confirmed. `ended` is the first attempt, if there was one. */
  async #runCarefully<T>(
    tenantId: string,
    isWrite: boolean,
    call: EngineCall,
    op: (member: Member) => Promise<T>,
    ended: Attempt<T> | null,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const { home, result, failure } = ended ?? (await this.#attempt(tenantId, isWrite, op));
      ended = null;
      if (failure === undefined || !(await this.isAway(failure, tenantId, home))) {
        if (await this.#wasHome(tenantId, home, isWrite)) {
          if (failure !== undefined) throw failure;
          return result as T;
        }
      }
      if (tries === MAX_TRIES) throw failure ?? onItsWay(tenantId);
      delete call.phase;
    }
  }

  async #attempt<T>(tenantId: string, isWrite: boolean, op: (member: Member) => Promise<T>): Promise<Attempt<T>> {
    const home = await this.placements.homeOf(tenantId, isWrite);
    try {
      return { home, result: await op(this.member(home.server)), failure: undefined };
    } catch (failure) {
      return { home, result: undefined, failure };
    }
  }

  /** Whether the fence of a server rejected a write, and the tenant is, or will soon be, on another server. */
  async isAway(error: unknown, tenantId: string, home: Home): Promise<boolean> {
    const fence = fenceOf(error);
    if (!fence) return false;
    await this.placements.refresh();
    const now = await this.placements.homeOf(tenantId, true);
    if (now.version !== home.version) return true;
    if (fence.state !== 'moved') return false;
    await this.#complete(fence.move);
    await this.placements.refresh();
    return true;
  }

  async #wasHome(tenantId: string, home: Home, isWrite: boolean): Promise<boolean> {
    try {
      return await this.placements.wasHome(tenantId, home, performance.now());
    } catch (error) {
      if (!isWrite || !isTidemarkError(error)) throw error;
      // The result may be that of a tenant that has left the server, or the write may be stored.
      throw new TidemarkError(
        'OUTCOME_UNKNOWN',
        `The directory cannot be asked whether the tenant is still on its server (${error.message}); retry the write`,
        { cause: error },
      );
    }
  }

  /** Yields the pages of a server. Fails if the tenant leaves it in the meantime. */
  async *pages<T>(tenantId: string, open: (member: Member) => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const home = await this.placements.homeOf(tenantId, false);
    for await (const page of open(this.member(home.server))) {
      if (!(await this.placements.wasHome(tenantId, home, performance.now()))) throw onItsWay(tenantId);
      yield page;
    }
    if (!(await this.placements.wasHome(tenantId, home, performance.now()))) throw onItsWay(tenantId);
  }

  /** Queries all servers, and again if a tenant was switched in the meantime. */
  async settled<T>(work: (views: readonly MemberView[]) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const mark = await this.placements.mark();
      const views = this.members.map((member) => ({ member, hidden: this.placements.hiddenOn(member.ordinal) }));
      const answer = await work(views);
      if ((await this.placements.unchanged(mark, performance.now())) || tries === MAX_TRIES) return answer;
    }
  }

  /** Lists tenants of all servers in byte order. */
  async tenants(
    list: (member: Member, after: string | null, limit: number) => Promise<string[]>,
    after: string | null,
    limit: number,
  ): Promise<string[]> {
    return this.settled(async (views) => {
      const found = await Promise.all(
        views.map(async ({ member, hidden }) => {
          const names: string[] = [];
          for (let from = after; ; ) {
            const page = await list(member, from, limit);
            names.push(...page.filter((name) => !hidden.has(name)));
            if (page.length < limit || names.length >= limit) return names;
            from = page.at(-1)!;
          }
        }),
      );
      return firstAfter(found.flat(), after, limit);
    });
  }

  /** Queries the server of a view's tenant, or all servers. */
  async sum(tenantId: string | null, call: EngineCall, ask: (member: Member) => Promise<number>): Promise<number> {
    if (tenantId !== null) return this.write(tenantId, call, ask);
    const counts = await Promise.all(this.members.map(ask));
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

function onItsWay(tenantId: string): TidemarkError {
  return new TidemarkError('UNAVAILABLE', `Tenant ${tenantId} was moved to another server meanwhile; try again`, {
    retryAfterMs: 100,
  });
}

/** Returns the report of a server's fence, or `null` for any other error. */
function fenceOf(error: unknown): { state: string; move: number } | null {
  const cause = isTidemarkError(error) ? error.cause : error;
  if (!isFenced(cause)) return null;
  return JSON.parse((cause as { detail: string }).detail);
}
