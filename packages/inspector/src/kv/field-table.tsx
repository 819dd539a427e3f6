/** The fields of a record, each in a format that the reader can change. */
import { bytesOfWire, type WireBytes, type WireRecord } from '@tidemark/wire';
import { useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { sizeText } from '../parts/numbers.ts';
import { Time } from '../parts/times.tsx';
import { type Form, formsOf, jsonOf, millisOf, textIn } from './decoders.ts';

const FIRST_CHARACTERS = 2_000;

interface FieldTableProps {
  fields: WireRecord['fields'];
  sealed: WireRecord['sealed'];
  changed: ReadonlySet<string>;
}

export function FieldTable({ fields, sealed, changed }: FieldTableProps) {
  return (
    <table class="fields">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Value</th>
          <th scope="col">Format</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(fields).map(([name, value]) => (
          <FieldRow
            key={name}
            name={name}
            value={value}
            isSealed={sealed?.includes(name) === true}
            isChanged={changed.has(name)}
          />
        ))}
      </tbody>
    </table>
  );
}

interface FieldRowProps {
  name: string;
  value: WireBytes;
  isSealed: boolean;
  isChanged: boolean;
}

function FieldRow({ name, value, isSealed, isChanged }: FieldRowProps) {
  const forms = formsOf(value);
  const [wanted, setWanted] = useState<Form | null>(null);
  const form = wanted !== null && forms.includes(wanted) ? wanted : forms[0]!;
  return (
    <tr class={isChanged ? 'just-changed' : undefined}>
      <th scope="row">
        {name} {isSealed && <span class="quiet">sealed</span>}
      </th>
      <td>
        <Value form={form} value={value} name={name} />
      </td>
      <td class="field-form">
        <select
          aria-label={`Format of ${name}`}
          value={form}
          onChange={(event) => setWanted(event.currentTarget.value as Form)}
        >
          {forms.map((it) => (
            <option key={it} value={it}>
              {it}
            </option>
          ))}
        </select>
        <span class="quiet">{sizeText(bytesOfWire(value).length)}</span>
        <CopyButton text={() => textIn('text' in value ? 'text' : 'base64', value)} what={`field ${name}`} />
      </td>
    </tr>
  );
}

function Value({ form, value, name }: { form: Form; value: WireBytes; name: string }) {
  const [isComplete, setComplete] = useState(false);
  const text = textIn(form, value);
  if (form === 'JSON' || form === 'adapter') return <JsonTree value={jsonOf(text)} label={`Field ${name}`} />;
  const ms = form === 'time' ? millisOf(text) : null;
  if (ms !== null)
    return (
      <span>
        <span class="field-moment">{new Date(ms).toISOString()}</span>{' '}
        <span class="quiet">
          <Time at={new Date(ms).toISOString()} />
        </span>
      </span>
    );
  if (text.length <= FIRST_CHARACTERS || isComplete) return <span class="field-text">{text}</span>;
  return (
    <span class="field-text">
      {text.slice(0, FIRST_CHARACTERS)}…{' '}
      <button type="button" class="small" onClick={() => setComplete(true)}>
        show all
      </button>
    </span>
  );
}
