/**
 * The list of all objects that may exist outside the engine, kept in the engine. An object is listed from before its
 * upload until after its removal. Every change of an entry is conditional on the state that was read, so a writer
 * cannot keep an object that a sweep removes.
 */
import type { EngineCall } from '../../engine/call.ts';
import type { RecordName, Records, StoredRecord } from '../../engine/records.ts';
import { joinKey, keyPrefix, splitKey } from '../../tools/joined-keys.ts';
import { fieldsOf, numberField, textField } from '../../tools/record-fields.ts';
import { SYSTEM_TENANT } from '../../tools/system-tenant.ts';

const OBJECT = 'object';
const ERASING = 'erasing';
const PAGE = 500;
/** How long to keep the marks of an erasure that crashed. */
const MARKED_FOR_MS = 24 * 3_600_000;

/**
 * `pending`: being uploaded, or uploaded and not yet referenced. `kept`: a reference was stored. `replaced`: the engine
 * refers to other bytes of the same content. `removing`: the object is being removed, and nothing may refer to it
 * again.
 */
export type ObjectState = 'pending' | 'kept' | 'replaced' | 'removing';

/** An object and its state when it was last read or written. */
export interface ListedObject {
  tenantId: string;
  /** The name of the object within its tenant. */
  object: string;
  state: ObjectState;
  revision: number;
  /** When the state was last set, in milliseconds of the engine's clock. */
  at: number;
  /** `null` until all bytes were read from their source. */
  sha256: string | null;
  sizeBytes: number;
  /** The size of the pointer in the engine. */
  pointerBytes: number;
}

/** An object that an erasure may release. */
export interface ErasedObject {
  sha256: string;
  object: string;
}

type Change = Partial<Pick<ListedObject, 'sha256' | 'sizeBytes' | 'pointerBytes'>>;

export class ObjectRegistry {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  now(call: EngineCall): Promise<number> {
    return this.#records.now(asOperator(call));
  }

  async add(tenantId: string, object: string, call: EngineCall): Promise<ListedObject> {
    const { record } = await this.#records.write(
      {
        name: nameOf(tenantId, object),
        expect: { exists: false },
        mode: 'replace',
        set: fieldsOf({ state: 'pending' }),
        stamps: new Map([['at', 0]]),
      },
      asOperator(call),
    );
    return listed(tenantId, object, record!);
  }

  /** Sets the state of an object. Returns `null` and changes nothing if the entry has changed since it was read. */
  async set(entry: ListedObject, state: ObjectState, change: Change, call: EngineCall): Promise<ListedObject | null> {
    const { applied, record } = await this.#records.write(
      {
        name: nameOf(entry.tenantId, entry.object),
        expect: { exists: true, revision: entry.revision },
        mode: 'merge',
        set: fieldsOf({ state, ...change }),
        stamps: new Map([['at', 0]]),
      },
      asOperator(call),
    );
    return applied ? listed(entry.tenantId, entry.object, record!) : null;
  }

  async drop({ tenantId, object, revision }: ListedObject, call: EngineCall): Promise<void> {
    const name = nameOf(tenantId, object);
    await this.#records.write({ name, expect: { revision }, mode: 'delete', set: new Map() }, asOperator(call));
  }

  async find(tenantId: string, object: string, call: EngineCall): Promise<ListedObject | null> {
    const [record] = await this.#records.get([nameOf(tenantId, object)], asOperator(call));
    return record ? listed(tenantId, object, record) : null;
  }

  /** Yields pages of the objects of a tenant, or with `null` of all tenants. */
  async *pages(tenantId: string | null, call: EngineCall): AsyncGenerator<ListedObject[]> {
    const prefix = keyPrefix(tenantId === null ? [OBJECT] : [OBJECT, tenantId]);
    for await (const page of this.#scan(prefix, call))
      yield page.map(({ key, ...record }) => {
        const [, owner, object] = splitKey(key);
        return listed(owner!, object!, record);
      });
  }

  /** Remembers objects that an erasure may release, until `unmark`. */
  async mark(tenantId: string, erasure: string, objects: readonly ErasedObject[], call: EngineCall): Promise<void> {
    await this.#records.write(
      {
        name: markOf(tenantId, erasure),
        mode: 'replace',
        set: fieldsOf({ objects: JSON.stringify(objects) }),
        ttlMs: MARKED_FOR_MS,
      },
      asOperator(call),
    );
  }

  async unmark(tenantId: string, erasure: string, call: EngineCall): Promise<void> {
    await this.#records.write({ name: markOf(tenantId, erasure), mode: 'delete', set: new Map() }, asOperator(call));
  }

  /** Returns the objects that erasures of a tenant have marked. */
  async marked(tenantId: string, call: EngineCall): Promise<ErasedObject[]> {
    const objects: ErasedObject[] = [];
    for await (const page of this.#scan(keyPrefix([ERASING, tenantId]), call))
      for (const record of page) objects.push(...(JSON.parse(textField(record, 'objects')!) as ErasedObject[]));
    return objects;
  }

  async *#scan(prefix: string, call: EngineCall) {
    for (let after: string | null = null; ; ) {
      const range = { prefix, after, limit: PAGE };
      const page = await this.#records.scan('kv', SYSTEM_TENANT, range, asOperator(call));
      // The state of a damaged entry is unknown, so its object is kept.
      yield page.filter(({ damaged }) => !damaged);
      if (page.length < PAGE) return;
      after = page.at(-1)!.key;
    }
  }
}

/**
 * Returns the call without its tenant. The list belongs to no tenant, so the view of a tenant must not confine the
 * call.
 */
function asOperator({ signal, deadline }: EngineCall): EngineCall {
  return { signal, deadline, tenantId: null };
}

function nameOf(tenantId: string, object: string): RecordName {
  return { space: 'kv', tenantId: SYSTEM_TENANT, key: joinKey([OBJECT, tenantId, object]) };
}

function markOf(tenantId: string, erasure: string): RecordName {
  return { space: 'kv', tenantId: SYSTEM_TENANT, key: joinKey([ERASING, tenantId, erasure]) };
}

function listed(tenantId: string, object: string, record: StoredRecord): ListedObject {
  return {
    tenantId,
    object,
    state: textField(record, 'state') as ObjectState,
    revision: record.revision,
    at: numberField(record, 'at'),
    sha256: textField(record, 'sha256'),
    sizeBytes: Number(textField(record, 'sizeBytes') ?? 0),
    pointerBytes: Number(textField(record, 'pointerBytes') ?? 0),
  };
}
