/** Schemas of records. */
import Type from 'typebox';
import { Count, Duration, Id, RequestId } from './common.ts';

const Bytes = Type.Union([Type.Object({ text: Type.String() }), Type.Object({ base64: Type.String() })], {
  title: 'Bytes',
});
const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Bytes], { title: 'Value' });
export const Field = Type.Object({ value: Bytes });
const ValueOrNull = Type.Union([Value, Type.Null()]);
const Fields = Type.Record(Type.String(), Value);
const Changes = Type.Record(Type.String(), ValueOrNull);
const Ttl = Type.Optional(Duration);
const TtlOrNull = Type.Optional(Type.Union([Duration, Type.Null()]));

export const KvRecord = Type.Object(
  {
    fields: Type.Record(Type.String(), Bytes),
    ttl: Type.Optional(Type.Integer()),
    revision: Type.Integer(),
    sealed: Type.Optional(Type.Array(Type.String(), { description: 'Names of the sealed fields' })),
  },
  { title: 'KvRecord' },
);
const Sealed = Type.Optional(
  Type.Union([Type.Boolean(), Type.Array(Type.String())], {
    description: 'Fields to encrypt in storage: true for all, or their names',
  }),
);
const RecordOrNull = Type.Union([KvRecord, Type.Null()]);
/** An item of a scan. It has no record if only keys were requested. */
export const KvListed = Type.Object({ key: Id, record: Type.Optional(KvRecord) }, { title: 'KvListed' });
export const WriteResult = Type.Object({
  written: Type.Boolean(),
  revision: Type.Union([Type.Integer(), Type.Null()]),
});
export const PutRecord = Type.Object({ fields: Fields, ttl: Ttl, sealed: Sealed, requestId: RequestId });
export const PatchRecord = Type.Object({
  fields: Changes,
  ifExists: Type.Optional(Type.Boolean()),
  sealed: Sealed,
  requestId: RequestId,
});
export const SetField = Type.Object({
  value: Value,
  ifExists: Type.Optional(Type.Boolean()),
  sealed: Type.Optional(Type.Boolean()),
  requestId: RequestId,
});
export const CompareAndSwap = Type.Object({
  expected: ValueOrNull,
  next: ValueOrNull,
  sealed: Type.Optional(Type.Boolean()),
  requestId: RequestId,
});
export const Swapped = Type.Object({ swapped: Type.Boolean() });
export const Swap = Type.Object({
  expected: Type.Optional(Changes),
  expectedRevision: Type.Optional(Count),
  set: Changes,
  ttl: TtlOrNull,
  sealed: Sealed,
  requestId: RequestId,
});
export const SwapResult = Type.Object({ swapped: Type.Boolean(), record: RecordOrNull });
const Operation = Type.Object(
  {
    op: Type.String({ description: 'put, setFields or delete' }),
    key: Id,
    fields: Type.Optional(Changes),
    ttl: TtlOrNull,
    ifExists: Type.Optional(Type.Boolean()),
    sealed: Sealed,
    expected: Type.Optional(Changes),
    expectedRevision: Type.Optional(Count),
  },
  { title: 'KvOperation' },
);
export const Batch = Type.Object({ operations: Type.Array(Operation), requestId: RequestId });
const RevisionOrNull = Type.Union([Type.Integer(), Type.Null()]);
/** `results` is set if the batch was written, and `unmet` if it was not. */
export const BatchResult = Type.Object({
  written: Type.Boolean(),
  results: Type.Optional(Type.Array(Type.Object({ revision: RevisionOrNull, existed: Type.Boolean() }))),
  unmet: Type.Optional(
    Type.Object({
      index: Type.Integer(),
      key: Id,
      condition: Type.Union([Type.Literal('expected'), Type.Literal('expectedRevision'), Type.Literal('ifExists')]),
      field: Type.Optional(Type.String()),
      record: RecordOrNull,
    }),
  ),
});
export const Touch = Type.Object({ ttl: Type.Union([Duration, Type.Null()]), requestId: RequestId });
export const Touched = Type.Object({ touched: Type.Boolean() });
export const Keys = Type.Object({ keys: Type.Array(Id) });
export const Found = Type.Object({ items: Type.Array(RecordOrNull) });

const Predicate = Type.Object({
  field: Type.String(),
  op: Type.String({ description: 'eq, ne, lt, gt, lte, gte or in' }),
  value: Type.Union([Value, Type.Array(Value)]),
});
export const Filter = Type.Object(
  { where: Type.Array(Predicate), maxResults: Type.Optional(Count) },
  { title: 'Filter' },
);
/** A range of whole keys. */
export const KEY_RANGE = {
  from: Type.Optional(Type.String({ description: 'Lowest key, inclusive' })),
  to: Type.Optional(Type.String({ description: 'End of the keys, exclusive' })),
};
/** Direction and content of a scan. */
export const SCAN_FORM = {
  reverse: Type.Optional(Type.Boolean({ description: 'Highest keys first' })),
  keysOnly: Type.Optional(Type.Boolean({ description: 'Keys without records' })),
};
const PAGE = { cursor: Type.Optional(Type.String()), limit: Type.Optional(Count) };
export const Scan = Type.Object({
  prefix: Type.String(),
  filter: Type.Optional(Filter),
  ...KEY_RANGE,
  ...SCAN_FORM,
  ...PAGE,
});
export const CountRecords = Type.Object({ prefix: Type.String(), filter: Type.Optional(Filter), ...KEY_RANGE });
export const Counted = Type.Object({ count: Type.Integer(), exact: Type.Boolean() });
export const DeletePrefix = Type.Object({ prefix: Type.String(), ...KEY_RANGE, ...PAGE });
export const DeletedPrefix = Type.Object({ deleted: Type.Integer(), next: Type.Optional(Type.String()) });
