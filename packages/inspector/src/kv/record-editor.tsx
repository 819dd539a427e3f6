/** Edits a record. Writes only if the record still has the revision that was read. Otherwise shows the conflict. */
import { useSignal } from '@preact/signals';
import type { WireRecord } from '@tidemark/wire';
import { useRef } from 'preact/hooks';
import { useAction } from '../live/action.ts';
import type { Tenant } from '../live/tenant.ts';
import { notify } from '../parts/copy.tsx';
import { newId } from '../parts/ids.ts';
import { Failure } from '../parts/states.tsx';
import { writeRecord } from './api.ts';
import { Conflict } from './conflict.tsx';
import { changesOf, type DraftField, draftOf, flawOf, NEW_FIELD, sealedIn } from './draft.ts';

interface EditorProps {
  name: string;
  tenant: Tenant;
  record: WireRecord;
  onDone(): void;
  /** Called with the record after the write. */
  onWritten(record: WireRecord | null): void;
}

export function RecordEditor({ name, tenant, record, onDone, onWritten }: EditorProps) {
  // The form keeps the revision with which it was opened, even when the record changes.
  const base = useRef(record).current;
  const draft = useSignal<DraftField[]>(draftOf(base.fields));
  const theirs = useSignal<WireRecord | null | undefined>(undefined);
  const action = useAction();
  // If the record was deleted in the meantime, all fields have to be written.
  const set = changesOf(draft.value, theirs.value === null ? {} : base.fields);
  const flaw = flawOf(draft.value);

  const write = (expectedRevision: number) => {
    const sealed = sealedIn(set, base);
    const body = { expectedRevision, set, requestId: newId(), ...(sealed.length > 0 && { sealed }) };
    action.run(async () => {
      const { swapped, record: current } = await writeRecord(name, body, tenant);
      if (!swapped) {
        theirs.value = current;
        return;
      }
      onWritten(current);
      notify('Written');
      onDone();
    });
  };
  if (theirs.value !== undefined) {
    const current = theirs.value;
    const takeTheirs = () => {
      onWritten(current);
      onDone();
    };
    return (
      <Conflict
        base={base}
        theirs={current}
        set={set}
        action={action}
        onWrite={() => write(current?.revision ?? 0)}
        onTakeTheirs={takeTheirs}
        onBack={() => {
          theirs.value = undefined;
        }}
      />
    );
  }
  const change = (at: number, changes: Partial<DraftField>) => {
    draft.value = draft.value.with(at, { ...draft.value[at]!, ...changes });
  };
  return (
    <form
      class="record-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (flaw === null) write(base.revision);
      }}
    >
      {draft.value.map((field, at) => (
        <FieldEditor key={at} field={field} onChange={(changes) => change(at, changes)} />
      ))}
      {flaw !== null && <p class="tone-bad">{flaw}</p>}
      {record.revision !== base.revision && (
        <p class="tone-warn">
          The record is now at revision {record.revision}; you started from {base.revision}.
        </p>
      )}
      {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
      <div class="card-tools">
        <button
          type="submit"
          class="primary"
          disabled={flaw !== null || Object.keys(set).length === 0 || action.isBusy.value}
        >
          Write on revision {base.revision}
        </button>
        <button
          type="button"
          onClick={() => {
            draft.value = [...draft.value, NEW_FIELD];
          }}
        >
          Add a field
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function FieldEditor({ field, onChange }: { field: DraftField; onChange(changes: Partial<DraftField>): void }) {
  const { name, form, content, isRemoved, isNew } = field;
  return (
    <fieldset class={isRemoved ? 'field-editor removed' : 'field-editor'}>
      <legend class="unseen">Field {name}</legend>
      {isNew ? (
        <input
          type="text"
          aria-label="Name of the new field"
          placeholder="name"
          value={name}
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
      ) : (
        <span class="strong">
          {name} {form === 'base64' && <span class="quiet">base64</span>}
        </span>
      )}
      <textarea
        aria-label={`Value of ${name || 'the new field'}`}
        rows={Math.min(12, content.split('\n').length)}
        spellcheck={false}
        disabled={isRemoved}
        value={content}
        onInput={(event) => onChange({ content: event.currentTarget.value })}
      />
      <button type="button" class="small" aria-pressed={isRemoved} onClick={() => onChange({ isRemoved: !isRemoved })}>
        Remove
      </button>
    </fieldset>
  );
}
