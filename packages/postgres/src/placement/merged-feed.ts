/**
 * The feed of a placed store. A cursor contains a position in the feed of each server. An event is read under the
 * position that its first server gave it, from whichever server its tenant is on, so a move neither hides nor repeats
 * it. Events that a tenant stored on its new server are read only after all that it stored on the old one.
 */
import { invalidArgument } from '@tidemark/core';
import type { EngineCall, FeedEntry } from '@tidemark/core/engine';
import type { Move } from './directory.ts';
import { comparePositions, cursorOf, type FeedPosition, positionOf } from './origins.ts';
import type { Member, Routes } from './routes.ts';

const PREFIX = 'p1.';
const MAX_TRIES = 5;
const START: FeedPosition = [0, '0', 0];

/** The cursor of each server's feed, by ordinal. */
type Cursors = Map<number, string>;

/** The entries of one server's feed that follow a cursor, and whether there were no more when it was read. */
interface OriginPage {
  entries: FeedEntry[];
  isEnd: boolean;
  /** Up to where the feed has been read, beyond its last entry. */
  readTo: string | null;
}

export class MergedFeed {
  readonly #routes: Routes;

  constructor(routes: Routes) {
    this.#routes = routes;
  }

  async read(after: string | null, limit: number, call: EngineCall, notices: boolean): Promise<FeedEntry[]> {
    const start = this.#parse(after);
    for (let tries = 1; ; tries++) {
      const mark = await this.#routes.placements.mark();
      const entries = await this.#page(new Map(start), limit, call, notices);
      // A tenant that was switched in the meantime may have been read on neither server, or too early on the new one.
      if (await this.#routes.placements.unchanged(mark, performance.now())) return entries;
      if (tries === MAX_TRIES) return [];
    }
  }

  /** Takes an equal share from every server, then fills the page from those that have more. */
  async #page(cursors: Cursors, limit: number, call: EngineCall, notices: boolean): Promise<FeedEntry[]> {
    const entries: FeedEntry[] = [];
    const moves = this.#routes.placements.switched;
    let open = [...this.#routes.members];
    while (open.length > 0 && entries.length < limit) {
      const share = Math.ceil((limit - entries.length) / open.length);
      const barriers = new Map(open.map((member) => [member, barrierOf(member, cursors, moves)]));
      const pages = await Promise.all(
        open.map((member) => this.#readOrigin(member, cursors, moves, barriers.get(member)!, share, call, notices)),
      );
      let isBeyond = false;
      const more: Member[] = [];
      for (const [at, member] of open.entries()) {
        const { entries: found, isEnd, readTo } = pages[at]!;
        if (entries.length + found.length > limit) found.length = limit - entries.length;
        const rest = joined(cursors, member.ordinal);
        if (found.length > 0) cursors.set(member.ordinal, found.at(-1)!.cursor);
        for (const entry of found) {
          entry.cursor = `${rest}${member.ordinal}:${entry.cursor}`;
          entries.push(entry);
        }
        if (isEnd && readTo !== null) {
          cursors.set(member.ordinal, readTo);
          isBeyond = true;
        }
        if (!isEnd) more.push(member);
      }
      // Another server may have waited for one that has now been read to its end.
      const waiting = open.filter((member) => barriers.get(member) !== null && !more.includes(member));
      open = isBeyond ? [...more, ...waiting] : more;
    }
    return entries;
  }

  async #readOrigin(
    member: Member,
    cursors: Cursors,
    moves: readonly Move[],
    barrier: FeedPosition | null,
    limit: number,
    call: EngineCall,
    notices: boolean,
  ): Promise<OriginPage> {
    const after = cursors.get(member.ordinal) ?? null;
    const position = after === null ? START : positionOf(after);
    const ahead = moves.filter(
      ({ from, fromEnd }) => from === member.ordinal && comparePositions(positionOf(fromEnd!), position) > 0,
    );
    const page =
      ahead.length === 0
        ? await plainPage(member, after, limit, call, notices)
        : await this.#pageWithCopies(member, after, ahead, moves, limit, call, notices);
    if (barrier === null) return page;
    const allowed = page.entries.filter(({ cursor }) => comparePositions(positionOf(cursor), barrier) < 0);
    const isWithin = page.readTo === null || comparePositions(positionOf(page.readTo), barrier) <= 0;
    if (allowed.length === page.entries.length && isWithin) return page;
    // Read up to the barrier and not beyond it. Not beyond it, even if nothing follows here: another server may wait
    // for this one to pass it. Up to it, even if something follows: otherwise two servers might wait for each other
    // forever.
    return { entries: allowed, isEnd: true, readTo: endReached(ahead, barrier, allowed) };
  }

  /** Merges a server's own feed with the entries of tenants that have left it, which are on other servers. */
  async #pageWithCopies(
    member: Member,
    after: string | null,
    ahead: readonly Move[],
    moves: readonly Move[],
    limit: number,
    call: EngineCall,
    notices: boolean,
  ): Promise<OriginPage> {
    // Read first: a copy beyond it may precede an event of another tenant that is not committed yet.
    const horizon = await member.runs.feedHorizon(call);
    const holders = new Set(ahead.map(({ tenant }) => homeAfter(moves, tenant)));
    holders.delete(member.ordinal);
    const pages = await Promise.all([
      member.runs.feed(after, limit, call, notices),
      ...[...holders].map((holder) =>
        this.#routes.member(holder).runs.copiedFeed(member.ordinal, after, horizon, limit, call, notices),
      ),
    ]);
    const found = new Map<string, { entry: FeedEntry; position: FeedPosition }>();
    for (const entry of pages.flat())
      if (!found.has(entry.cursor)) found.set(entry.cursor, { entry, position: positionOf(entry.cursor) });
    const sorted = [...found.values()].sort((a, b) => comparePositions(a.position, b.position));
    // A full page does not show what follows its last entry, and no copy beyond the horizon was read.
    const ends = pages.filter((page) => page.length === limit).map((page) => positionOf(page.at(-1)!.cursor));
    const isWithin = ({ position }: { position: FeedPosition }) =>
      comparePositions(position, horizon) < 0 && ends.every((end) => comparePositions(position, end) <= 0);
    const entries = sorted.filter(isWithin).map(({ entry }) => entry);
    if (entries.length < sorted.length || ends.length > 0)
      return { entries: entries.slice(0, limit), isEnd: false, readTo: null };
    return { entries, isEnd: true, readTo: endReached(ahead, horizon, entries) };
  }

  /** A cursor from before the store had several servers is a position on the first one. */
  #parse(after: string | null): Cursors {
    if (after === null) return new Map();
    if (!after.startsWith(PREFIX)) return new Map([[this.#routes.first.ordinal, cursorOf(checked(after))]]);
    const cursors: Cursors = new Map();
    for (const part of after.slice(PREFIX.length).split('~')) {
      const [ordinal, cursor] = part.split(':');
      if (!/^[1-9]\d{0,4}$/.test(ordinal!) || !cursor) throw invalidArgument('cursor', 'a cursor of this feed', after);
      checked(cursor);
      cursors.set(Number(ordinal), cursor);
    }
    return cursors;
  }
}

async function plainPage(
  member: Member,
  after: string | null,
  limit: number,
  call: EngineCall,
  notices: boolean,
): Promise<OriginPage> {
  const entries = await member.runs.feed(after, limit, call, notices);
  return { entries, isEnd: entries.length < limit, readTo: null };
}

/**
 * Returns the position on a server beyond which it must not be read yet: where a tenant continues that has not been
 * read to its end on its old server.
 */
function barrierOf({ ordinal }: Member, cursors: Cursors, moves: readonly Move[]): FeedPosition | null {
  let barrier: FeedPosition | null = null;
  for (const { from, to, fromEnd, toStart } of moves) {
    if (to !== ordinal) continue;
    const read = cursors.get(from);
    if (read !== undefined && comparePositions(positionOf(read), positionOf(fromEnd!)) >= 0) continue;
    const start = positionOf(toStart!);
    if (barrier === null || comparePositions(start, barrier) < 0) barrier = start;
  }
  return barrier;
}

/**
 * Returns where the last move away from a server ended that a page has read past, if that is beyond the page's last
 * entry. The page contains everything before `readTo`.
 */
function endReached(ahead: readonly Move[], readTo: FeedPosition, entries: readonly FeedEntry[]): string | null {
  const ends = ahead.map(({ fromEnd }) => positionOf(fromEnd!)).filter((end) => comparePositions(end, readTo) <= 0);
  const furthest = ends.sort(comparePositions).at(-1);
  const last = entries.at(-1);
  const isBeyond = furthest && (!last || comparePositions(furthest, positionOf(last.cursor)) > 0);
  return isBeyond ? cursorOf(furthest) : null;
}

/** Returns the server of a tenant after all its moves. */
function homeAfter(moves: readonly Move[], tenant: string): number {
  return moves.findLast((move) => move.tenant === tenant)!.to;
}

/** Returns the beginning of a cursor, up to the position on one server. */
function joined(cursors: Cursors, without: number): string {
  const parts = [...cursors]
    .filter(([ordinal]) => ordinal !== without)
    .map(([ordinal, cursor]) => `${ordinal}:${cursor}~`);
  return PREFIX + parts.join('');
}

function checked(cursor: string): FeedPosition {
  const position = positionOf(cursor);
  const [epoch, xid, at] = position;
  const isPosition =
    Number.isInteger(epoch) && typeof xid === 'string' && /^\d{1,19}$/.test(xid) && Number.isSafeInteger(at);
  if (!isPosition) throw invalidArgument('cursor', 'a cursor of this feed', cursor);
  return position;
}
