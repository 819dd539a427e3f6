/** A write conflict: the original record, the current record and the reader's changes, field by field. */
import type { WireBytes, WireRecord } from '@tidemark/wire';
import type { Action } from '../live/action.ts';
import { Icon } from '../parts/icons.tsx';
import { Failure } from '../parts/states.tsx';
import { Mark } from '../parts/status.tsx';
import { isSame, textIn } from './decoders.ts';

interface ConflictProps {
  /** The record when editing began. */
  base: WireRecord;
  /** The current record; `null` if it was deleted. */
  theirs: WireRecord | null;
  /** The reader's changes. */
  set: Record<string, WireBytes | null>;
  action: Action;
  onWrite(): void;
  onTakeTheirs(): void;
  onBack(): void;
}

export function Conflict({ base, theirs, set, action, onWrite, onTakeTheirs, onBack }: ConflictProps) {
  const names = [...new Set([...Object.keys(base.fields), ...Object.keys(theirs?.fields ?? {}), ...Object.keys(set)])];
  const isChanged = (name: string) => Object.hasOwn(set, name) || !isSame(fieldOf(base, name), fieldOf(theirs, name));
  return (
    <section class="conflict" aria-label="Conflict">
      <p class="tone-warn" role="alert">
        <Icon name="attention" />{' '}
        {theirs === null
          ? 'The record was deleted in the meantime. Nothing was written.'
          : `The record changed in the meantime: it is at revision ${theirs.revision}, you started from ${base.revision}. Nothing was written.`}
      </p>
      <table class="fields">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Original</th>
            <th scope="col">Theirs</th>
            <th scope="col">Yours</th>
          </tr>
        </thead>
        <tbody>
          {names.filter(isChanged).map((name) => {
            const [was, is] = [fieldOf(base, name), fieldOf(theirs, name)];
            const wanted = Object.hasOwn(set, name) ? (set[name] ?? undefined) : is;
            const isContested = Object.hasOwn(set, name) && !isSame(was, is) && !isSame(is, wanted);
            return (
              <tr key={name}>
                <th scope="row">
                  {name} {isContested && <Mark tone="warn">both changed</Mark>}
                </th>
                <Side value={was} />
                <Side value={is} isChanged={!isSame(was, is)} />
                <Side value={wanted} isChanged={Object.hasOwn(set, name)} />
              </tr>
            );
          })}
        </tbody>
      </table>
      {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
      <div class="card-tools">
        <button type="button" onClick={onTakeTheirs}>
          Keep theirs
        </button>
        <button type="button" class="primary" disabled={action.isBusy.value} onClick={onWrite}>
          {theirs === null ? 'Write mine as a new record' : `Write mine on revision ${theirs.revision}`}
        </button>
        <button type="button" onClick={onBack}>
          Back to the form
        </button>
      </div>
    </section>
  );
}

function fieldOf(record: WireRecord | null, name: string): WireBytes | undefined {
  return record && Object.hasOwn(record.fields, name) ? record.fields[name] : undefined;
}

function Side({ value, isChanged }: { value: WireBytes | undefined; isChanged?: boolean }) {
  return (
    <td class={isChanged ? 'just-changed' : undefined}>
      {value === undefined ? <span class="quiet">none</span> : <span class="field-text">{textIn('text', value)}</span>}
    </td>
  );
}
