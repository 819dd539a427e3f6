/** The artifact store of every backend (AGT-11): checks scope, type and limits before the engine is called. */

import { Damage } from '../checks/damage.ts';
import { checkByteRange, checkLimit, checkOptionalDuration, timeText } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import { type BlobDescription, describeBlob } from '../codec/blobs.ts';
import type { ArtifactAccess, ArtifactRef, ArtifactStore, PutArtifactOptions } from '../contracts/artifacts.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { ArtifactEngine, ArtifactRow } from '../engine/artifacts.ts';
import type { StoreContext } from '../tools/context.ts';
import { boundedChunks, cursorKey, pageOf, withDamage } from '../tools/paging.ts';
import type { WriteCall } from '../tools/writes.ts';
import { HashedChunks } from './chunks.ts';
import { checkIntent, Putting } from './putting.ts';
import { Reading } from './reading.ts';
import { checkArtifactSize } from './retention.ts';
import { checkScope, isLive, matchOf, scopeOf } from './scopes.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
const DEFAULT_GRACE_MS = 3_600_000;

/** Creates the artifact store of one tenant or, unless confined, of the tenant that a scope names. */
export function createArtifacts(
  context: StoreContext,
  engine: ArtifactEngine,
  tenantId: string,
  confined: boolean,
): ArtifactStore {
  const view = { tenantId, confined };
  const writer = new Putting(context, engine);
  const reader = new Reading(context, engine);

  const refOf = (owner: string, row: ArtifactRow) => referenceOf(row, describeBlob(context.payloads, owner, row));

  const lookUp = async <T>(
    id: string,
    access: ArtifactAccess | undefined,
    toResult: (row: ArtifactRow, owner: string) => T,
  ) => {
    checkId(id, 'id');
    const scope = checkScope(view, access?.scope);
    const row = await context.read(access, (call) => reader.find(id, scope, call));
    return row && toResult(row, scope.owner);
  };

  const putWhole = async (write: WriteCall, bytes: Uint8Array, given: PutArtifactOptions | undefined) => {
    const options = given ?? {};
    const intent = checkIntent(context, checkScope(view, options.scope), options);
    checkArtifactSize(bytes.length, context.retention);
    return context.write(options, write, async (call) =>
      refOf(intent.scope.owner, await writer.whole(intent, bytes, call)),
    );
  };

  return {
    async putBytes(bytes, options) {
      if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes', 'a Uint8Array', bytes ?? null);
      // Copied, so that changes by the caller during the call cannot separate the bytes from their hash.
      const write = context.writeOf('artifacts', 'putBytes', [bytes, options]);
      return putWhole(write, new Uint8Array(bytes), options);
    },

    async putText(text, options) {
      if (typeof text !== 'string' || !text.isWellFormed()) {
        throw invalidArgument(
          'text',
          'well-formed Unicode text',
          typeof text === 'string' ? undefined : (text ?? null),
        );
      }
      const write = context.writeOf('artifacts', 'putText', [text, options]);
      return putWhole(write, Buffer.from(text), { mimeType: 'text/plain', ...options });
    },

    async putStream(chunks, given) {
      const options = given ?? {};
      if (typeof chunks?.[Symbol.asyncIterator] !== 'function') {
        throw invalidArgument('chunks', 'an async iterable of Uint8Array', chunks ?? null);
      }
      const intent = checkIntent(context, checkScope(view, options.scope), options);
      const source = new HashedChunks(chunks, (sizeBytes) => checkArtifactSize(sizeBytes, context.retention));
      const write = context.writeOf('artifacts', 'putStream', [chunks, options]);
      return context.write(options, write, async (call) =>
        refOf(intent.scope.owner, await writer.stream(intent, source, call)),
      );
    },

    async get(id, access) {
      checkId(id, 'id');
      const scope = checkScope(view, access?.scope);
      return context.read(access, (call) => reader.whole(id, scope, call));
    },

    async getStream(id, access) {
      checkId(id, 'id');
      const scope = checkScope(view, access?.scope);
      const range = checkByteRange(access);
      const row = await context.read(access, (call) => reader.findForUse(id, scope, call));
      return row && boundedChunks(context, access, (call) => reader.stream(scope, row, range, call));
    },

    async getRef(id, access) {
      return lookUp(id, access, (row, owner) => refOf(owner, row));
    },

    async exists(id, access) {
      return (await lookUp(id, access, () => true)) !== null;
    },

    async delete(id, access) {
      checkId(id, 'id');
      const scope = checkScope(view, access?.scope);
      const write = context.writeOf('artifacts', 'delete', [id, access]);
      return context.write(access, write, async (call) => {
        const row = await reader.find(id, scope, call);
        return row !== null && (await engine.deleteRef(scope.owner, id, null, call));
      });
    },

    async list(scope, options) {
      const checked = checkScope(view, scope);
      const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
      let after = cursorKey('artifacts', options?.cursor);
      const damage = new Damage();
      const damagedRefs: string[] = [];
      const rows = await context.read(options, async (bounds) => {
        const call = { ...bounds, damaged: damagedRefs };
        const found: ArtifactRow[] = [];
        const now = context.clock();
        while (found.length <= limit) {
          const page = await engine.listRefs(checked.owner, matchOf(checked), { after, limit: limit + 1 }, call);
          found.push(...page.filter((row) => isLive(row, now)));
          if (page.length <= limit) break;
          after = page.at(-1)!.id;
        }
        return found;
      });
      const page = pageOf(
        'artifacts',
        rows,
        limit,
        (row) => row.id,
        (row) => damage.attempt(() => refOf(checked.owner, row)),
      );
      const items = page.items.filter((ref) => ref !== undefined);
      return withDamage({ ...page, items }, [...damagedRefs, ...damage.names]);
    },

    async sweep(options) {
      const graceMs = checkOptionalDuration(options?.grace, 'grace', DEFAULT_GRACE_MS);
      const write = context.writeOf('artifacts', 'sweep', [options]);
      return context.write(options, write, (call) =>
        engine.sweep(confined ? tenantId : null, context.clock(), graceMs, call),
      );
    },
  };
}

function referenceOf(row: ArtifactRow, { sha256, source }: BlobDescription): ArtifactRef {
  return {
    id: row.id,
    mimeType: row.mimeType,
    sizeBytes: row.sizeBytes,
    filename: row.filename,
    sha256,
    scope: scopeOf(row),
    namespace: row.namespace,
    source,
    createdAt: timeText(row.createdAt),
    expiresAt: row.expiresAt === null ? null : timeText(row.expiresAt),
  };
}
