/** Copies KV records, including jobs, and artifacts, each with its remaining time to live. */
import type { ArtifactRef, KvEntry, KvRecord } from '@tidemark/core';
import { sameJson } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { isCopied } from './marks.ts';
import { type CopyUnit, isSameTime, type Sides } from './unit.ts';

const PAGE = 100;
const STREAM_LIMIT_MS = 3_600_000;

export async function* kvUnits(sides: Sides): AsyncGenerator<CopyUnit> {
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next } = await sides.from.kv.scanPage('', { ...cursor, limit: PAGE });
    const entries = items.filter(({ key }) => isCopied(key));
    if (entries.length > 0) yield recordsUnit(sides, entries);
    if (next === undefined) return;
    cursor = { cursor: next };
  }
}

/** Copies a page of records as they were when it was read. */
function recordsUnit({ to }: Sides, entries: readonly KvEntry[]): CopyUnit {
  const others = async () => {
    const theirs = await to.kv.getMany(entries.map(({ key }) => key));
    return entries.filter(({ record }, at) => !isSameRecord(record, theirs[at]!));
  };
  return {
    id: entries[0]!.key,
    async copy() {
      const toWrite = await others();
      await Promise.all(
        toWrite.map(({ key, record: { fields, ttl, sealed } }) =>
          to.kv.put(key, fields, { ...(ttl !== undefined && { ttl }), ...(sealed && { sealed }) }),
        ),
      );
      return { copied: toWrite.length, same: entries.length - toWrite.length };
    },
    async compare() {
      const differing = await others();
      const [first] = differing;
      return first ? { count: differing.length, reason: `records differ in the target, such as ${first.key}` } : null;
    },
  };
}

function isSameRecord(ours: KvRecord, theirs: KvRecord | null): boolean {
  if (theirs === null || !isSameTime(ours.ttl ?? null, theirs.ttl ?? null)) return false;
  const names = Object.keys(ours.fields);
  const sealedIn = ({ sealed = [] }: KvRecord) => sealed.toSorted();
  return (
    sameJson(sealedIn(ours), sealedIn(theirs)) &&
    names.length === Object.keys(theirs.fields).length &&
    names.every((name) => {
      const other = theirs.fields[name];
      return other !== undefined && Buffer.compare(ours.fields[name]!, other) === 0;
    })
  );
}

export async function* artifactUnits(sides: Sides): AsyncGenerator<CopyUnit> {
  for await (const ref of itemsOf((cursor) => sides.from.artifacts.list({}, { ...cursor, limit: PAGE })))
    yield artifactUnit(sides, ref);
}

function artifactUnit({ from, to }: Sides, ref: ArtifactRef): CopyUnit {
  const { id, scope } = ref;
  const isThere = async () => isSameArtifact(ref, await to.artifacts.getRef(id, { scope }));
  return {
    id,
    async copy() {
      if (await isThere()) return { copied: 0, same: 1 };
      const chunks = await from.artifacts.getStream(id, { scope });
      const ttl = ref.expiresAt === null ? null : Date.parse(ref.expiresAt) - Date.now();
      if (chunks === null || (ttl !== null && ttl <= 0)) return { copied: 0, same: 0 };
      const { mimeType, filename, namespace, source } = ref;
      const about = Object.entries({ mimeType, filename, namespace }).filter(([, value]) => value !== null);
      const options = { ...Object.fromEntries(about), scope, source, ttl, timeoutMs: STREAM_LIMIT_MS };
      await to.artifacts.putStream(chunks, options);
      return { copied: 1, same: 0 };
    },
    async compare() {
      if (await isThere()) return null;
      const isGone = !(await from.artifacts.exists(id, { scope }));
      return isGone
        ? null
        : { count: 1, reason: 'the artifact is not in the target; its own limits may have removed it' };
    },
  };
}

function isSameArtifact(ours: ArtifactRef, theirs: ArtifactRef | null): boolean {
  if (theirs === null) return false;
  const about = ({ sha256, sizeBytes, mimeType, filename, namespace, source }: ArtifactRef) => [
    ...[sha256, sizeBytes, mimeType, filename, namespace, source],
  ];
  const timeOf = ({ expiresAt }: ArtifactRef) => (expiresAt === null ? null : Date.parse(expiresAt));
  return sameJson(about(ours), about(theirs)) && isSameTime(timeOf(ours), timeOf(theirs));
}
