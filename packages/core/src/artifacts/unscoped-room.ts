/**
 * Remembers how much room a tenant has left for artifacts without session and trace. There may be very many of them, so
 * they are not counted for every new artifact, but only once an eighth of the remaining room has been used, or after a
 * minute. Up to eight processes that store at the same time therefore stay within the limit.
 */
import type { ArtifactRetention } from '../contracts/artifacts.ts';

const SHARE = 8;
const KNOWN_FOR_MS = 60_000;
/** If more tenants than this are remembered, all are forgotten and counted again. */
const MAX_TENANTS = 10_000;

interface Room {
  count: number;
  bytes: number;
}

interface KnownRoom extends Room {
  until: number;
}

const rooms = new WeakMap<ArtifactRetention, Map<string, KnownRoom>>();

/** Returns the rooms known within these limits. All views of a store have the same limits and share the rooms. */
export function roomsOf(retention: ArtifactRetention): UnscopedRooms {
  const known = rooms.get(retention) ?? new Map<string, KnownRoom>();
  rooms.set(retention, known);
  return new UnscopedRooms(known);
}

export class UnscopedRooms {
  readonly #known: Map<string, KnownRoom>;

  constructor(known: Map<string, KnownRoom>) {
    this.#known = known;
  }

  /** Reserves room for one artifact. Returns false if the artifacts of the tenant must be counted first. */
  take(tenantId: string, sizeBytes: number, now: number): boolean {
    const room = this.#known.get(tenantId);
    const isKnown = room !== undefined && now < room.until && now >= room.until - KNOWN_FOR_MS;
    if (!isKnown || room.count < 1 || room.bytes < sizeBytes) return false;
    room.count--;
    room.bytes -= sizeBytes;
    return true;
  }

  /** Records the room left after a count. */
  counted(tenantId: string, { count, bytes }: Room, now: number): void {
    if (this.#known.size >= MAX_TENANTS) this.#known.clear();
    const room = { count: Math.floor(count / SHARE), bytes: Math.floor(bytes / SHARE), until: now + KNOWN_FOR_MS };
    this.#known.set(tenantId, room);
  }
}
