/** Deletes a record once its key has been typed, unless the record has changed since it was shown. */
import { TidemarkError } from '@tidemark/core/portable';
import type { WireRecord } from '@tidemark/wire';
import { useRef } from 'preact/hooks';
import { useAction } from '../live/action.ts';
import type { Tenant } from '../live/tenant.ts';
import { tidemarkLine } from '../parts/command-line.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { notify } from '../parts/copy.tsx';
import { newId } from '../parts/ids.ts';
import { counted } from '../parts/numbers.ts';
import { writeRecord } from './api.ts';

interface DeleteProps {
  name: string;
  tenant: Tenant;
  record: WireRecord;
  onClose(): void;
  /** Called with the record after the write. */
  onWritten(record: WireRecord | null): void;
}

export function DeleteRecord({ name, tenant, record: current, onClose, onWritten }: DeleteProps) {
  // Only the revision that was shown when the dialog opened is deleted.
  const record = useRef(current).current;
  const action = useAction();
  const confirm = () => {
    const set = Object.fromEntries(Object.keys(record.fields).map((field) => [field, null]));
    const body = { expectedRevision: record.revision, set, requestId: newId() };
    action.run(async () => {
      const { swapped, record: left } = await writeRecord(name, body, tenant);
      onWritten(left);
      if (!swapped && left) throw new TidemarkError('CONFLICT', 'The record has changed in the meantime and was kept');
      notify('Deleted');
      onClose();
    });
  };
  return (
    <Confirm
      title="Delete the record"
      typed={name}
      does="Delete"
      command={tidemarkLine('kv delete', [name], tenant)}
      action={action}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        Deletes the record with {counted(Object.keys(record.fields).length, 'field')} at revision {record.revision}{' '}
        permanently. If it changes first, it is kept.
      </p>
    </Confirm>
  );
}
