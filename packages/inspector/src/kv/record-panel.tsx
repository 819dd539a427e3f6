/** One record, live: its fields, revision and expiry. */
import { useSignal } from '@preact/signals';
import type { WireChange, WireRecord } from '@tidemark/wire';
import { useEffect, useRef } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import { useTopic } from '../live/stream.ts';
import type { Tenant } from '../live/tenant.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { Icon } from '../parts/icons.tsx';
import { Pair } from '../parts/pair.tsx';
import { Failure, Waiting } from '../parts/states.tsx';
import { hrefOf, setQuery } from '../shell/router.ts';
import { findRecord } from './api.ts';
import { isSame } from './decoders.ts';
import { DeleteRecord } from './delete-record.tsx';
import { FieldTable } from './field-table.tsx';
import { RecordEditor } from './record-editor.tsx';

const CHANGED_MS = 2_500;
const JOB = /^gbe\.state\.tasks\.([A-Za-z0-9_-]+)\.(.+)$/;

interface PanelProps {
  /** The key of the record. */
  name: string;
  tenant: Tenant;
  /** The topic of its changes; `null` if the store does not support watching. */
  topic: string | null;
}

interface Known {
  record: WireRecord | null;
  /** When the record expires, in milliseconds since the epoch. */
  expiresAt: number | undefined;
}

export function RecordPanel({ name, tenant, topic }: PanelProps) {
  const { data, error, reload } = useResource(name, async (signal) => knownNow(await findRecord(name, tenant, signal)));
  const mode = useSignal<'read' | 'edit' | 'delete'>('read');
  const changed = useSignal<ReadonlySet<string>>(new Set());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const show = (record: WireRecord | null) => {
    const before = data.value?.record;
    // A change may arrive twice. If an older change arrives after a response, the newer change follows it.
    if (before && record && record.revision === before.revision) return;
    changed.value = new Set(fieldsThatDiffer(before ?? null, record));
    data.value = knownNow(record);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      changed.value = new Set();
    }, CHANGED_MS);
  };
  const onItem = (item: unknown) => {
    const change = item as WireChange;
    if (change.key === name) show(change.record);
  };
  const subscription = topic === null ? null : { topic, ...(tenant && { tenantId: tenant }), after: null, onItem };
  useTopic(subscription && { ...subscription, onReset: reload }, `${topic} ${name}`);

  const { record, expiresAt } = data.value ?? {};
  const [, taskType, taskId] = JOB.exec(name) ?? [];
  const read = () => {
    mode.value = 'read';
  };
  return (
    <article class="card record-panel" aria-label="Record">
      <header>
        <h2>{name}</h2>
        <button type="button" class="bare" onClick={() => setQuery({ key: '' })}>
          <Icon name="close" />
          <span class="unseen">Close the record</span>
        </button>
      </header>
      {error.value !== undefined && <Failure error={error.value} onRetry={reload} />}
      {record === undefined && error.value === undefined && <Waiting what="the record" />}
      {record === null && <p class="quiet">There is no record under this key; it may have been deleted.</p>}
      {record && (
        <>
          <dl class="facts">
            <Pair name="Revision">{record.revision}</Pair>
            <Pair name="Expires">
              {expiresAt === undefined ? 'never' : <Countdown until={expiresAt} over="expired" />}
            </Pair>
            {taskType !== undefined && taskId !== undefined && (
              <Pair name="Job">
                <a href={hrefOf(['jobs'], { tenant, job: `${taskType}/${taskId}` })}>{taskId}</a>
              </Pair>
            )}
          </dl>
          {mode.value === 'edit' ? (
            <RecordEditor name={name} tenant={tenant} record={record} onDone={read} onWritten={show} />
          ) : (
            <>
              <div class="card-tools">
                <button
                  type="button"
                  class="small"
                  onClick={() => {
                    mode.value = 'edit';
                  }}
                >
                  Edit
                </button>
                <button
                  type="button"
                  class="small"
                  onClick={() => {
                    mode.value = 'delete';
                  }}
                >
                  Delete
                </button>
                <CopyButton text={name} what="key">
                  key
                </CopyButton>
                <CopyButton text={() => JSON.stringify(record, null, 2)} what="record as JSON">
                  JSON
                </CopyButton>
              </div>
              <FieldTable fields={record.fields} sealed={record.sealed} changed={changed.value} />
            </>
          )}
          {mode.value === 'delete' && (
            <DeleteRecord name={name} tenant={tenant} record={record} onClose={read} onWritten={show} />
          )}
        </>
      )}
    </article>
  );
}

function knownNow(record: WireRecord | null): Known {
  return { record, expiresAt: record?.ttl === undefined ? undefined : Date.now() + record.ttl };
}

function fieldsThatDiffer(before: WireRecord | null, after: WireRecord | null): string[] {
  return Object.keys(after?.fields ?? {}).filter((name) => !isSame(before?.fields[name], after?.fields[name]));
}
