/**
 * One actor erases session A while another stores the same bytes in other sessions. Bytes are stored once per hash, so
 * the erasure must distinguish bytes that only A references from bytes that another session is about to reference.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTidemarkError, type Store } from '@tidemark/core';
import { contentOf, readBack, slowly } from './artifact-content.ts';
import type { Arena, Race, RoundResult } from './race.ts';

const SMALL_BYTES = 2_000;
const LARGE_BYTES = 600_000;
const ARTIFACTS = 8;

type Kind = 'small' | 'large' | 'stream';

const MAX_DELAY_MS: Record<Kind, number> = { small: 10, large: 40, stream: 40 };

export function eraseSessionBesidePut(kind: Kind): Race {
  return {
    summary: `eraseSession during puts of the same bytes in other sessions (${kind})`,
    rounds: { short: 3, long: 200 },
    round: (arena) => round(arena, kind),
  };
}

async function round(arena: Arena, kind: Kind): Promise<RoundResult> {
  const [a, b] = [arena.a.forTenant(arena.id), arena.b.forTenant(arena.id)];
  const delay = () => arena.random.next() * MAX_DELAY_MS[kind];
  const contents = Array.from({ length: ARTIFACTS }, () =>
    contentOf(arena, kind === 'small' ? SMALL_BYTES : LARGE_BYTES),
  );
  const own: string[] = [];
  for (const bytes of contents) own.push((await a.artifacts.putBytes(bytes, { scope: { sessionId: 'A' } })).id);
  const problems: string[] = [];
  const store = async (bytes: Uint8Array, n: number): Promise<[string, Uint8Array][]> => {
    await sleep(delay());
    // A read updates the access time, which does not show when the bytes were stored.
    const reading = sleep(delay()).then(() => readWhileErased(b, own[n]!));
    const id = await put(b, kind, bytes, `B${n}`, delay());
    if (id !== null) problems.push(...(await readBack(b.artifacts, id, bytes, 'right after the put')));
    problems.push(...(await reading));
    return id === null ? [] : [[id, bytes]];
  };
  const erasing = sleep(delay()).then(() => a.admin.eraseSession('A'));
  const stored = (await Promise.all(contents.map(store))).flat();
  await erasing;
  for (const [id, bytes] of stored) problems.push(...(await readBack(a.artifacts, id, bytes, 'after the erasure')));
  if ((await a.artifacts.list({ sessionId: 'A' })).items.length > 0) problems.push('session A is not erased');
  return { checks: stored.length, problems };
}

/** Stores the bytes and returns the id, or `null` if the store refused with a retryable error. */
async function put(
  store: Store,
  kind: Kind,
  bytes: Uint8Array,
  sessionId: string,
  delayMs: number,
): Promise<string | null> {
  const options = { scope: { sessionId } };
  try {
    if (kind !== 'stream') return (await store.artifacts.putBytes(bytes, options)).id;
    return (await store.artifacts.putStream(slowly(bytes, delayMs), options)).id;
  } catch (error) {
    if (isTidemarkError(error) && error.retryable) return null;
    throw error;
  }
}

/** An artifact of the session being erased exists or not. It is never damaged. */
async function readWhileErased(store: Store, id: string): Promise<string[]> {
  try {
    await store.artifacts.get(id);
    return [];
  } catch (error) {
    return [`an artifact of session A cannot be read during the erasure: ${String(error).slice(0, 90)}`];
  }
}
