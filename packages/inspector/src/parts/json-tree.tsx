/** JSON as an expandable tree. Long lists and texts are shortened until the reader expands them. */
import { type Signal, useComputed, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from './copy.tsx';
import { Icon } from './icons.tsx';
import { pointerStep, shortText } from './json.ts';
import { countText } from './numbers.ts';

const FIRST_MEMBERS = 100;
const FIRST_CHARACTERS = 400;

/** Called with the path under the pointer or the focus; `isPinned` is true after a click. */
type OnPoint = (path: string, isPinned: boolean) => void;

/** State shared by all lines of a tree. */
interface Tree {
  /** The path under the pointer or the focus, whose line shows the tools. */
  pointed: Signal<string | null>;
  changed: ReadonlySet<string> | undefined;
  about: ((path: string) => ComponentChildren) | undefined;
  onPoint: OnPoint | undefined;
}

interface NodeProps {
  tree: Tree;
  value: unknown;
  /** JSON Pointer from the root. */
  path: string;
  name?: string;
  /** The number of levels below that are initially open. */
  openLevels: number;
}

interface JsonTreeProps {
  value: unknown;
  label: string;
  openLevels?: number;
  /** Paths to mark. */
  changed?: ReadonlySet<string>;
  /** Additional content for a path, shown with the tools of its line. */
  about?: (path: string) => ComponentChildren;
  onPoint?: OnPoint;
}

export function JsonTree({ value, label, openLevels = 2, changed, about, onPoint }: JsonTreeProps) {
  const pointed = useSignal<string | null>(null);
  return (
    <ul class="json" aria-label={label}>
      <JsonNode tree={{ pointed, changed, about, onPoint }} value={value} path="" openLevels={openLevels} />
    </ul>
  );
}

function JsonNode(props: NodeProps) {
  const { tree, value, path, name } = props;
  const isContainer = value !== null && typeof value === 'object' && Object.keys(value).length > 0;
  return (
    <li class={tree.changed?.has(path) ? 'changed' : undefined}>
      {isContainer ? (
        <Container {...props} value={value as object} />
      ) : (
        <Line tree={tree} value={value} path={path} isStop>
          {name !== undefined && <span class="json-name">{name}: </span>}
          <Leaf value={value} />
        </Line>
      )}
    </li>
  );
}

interface LineProps {
  tree: Tree;
  value: unknown;
  path: string;
  /** Makes the line reachable with the Tab key. Used for lines without a button. */
  isStop?: boolean;
  children: ComponentChildren;
}

function Line({ tree, value, path, isStop, children }: LineProps) {
  const isPointed = useComputed(() => tree.pointed.value === path);
  const point = () => {
    tree.pointed.value = path;
    tree.onPoint?.(path, false);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: pointing at a line shows its tools, which have keys.
    // biome-ignore lint/a11y/useKeyWithClickEvents: a focused line needs no click.
    <div
      class="json-line"
      tabIndex={isStop ? 0 : undefined}
      onMouseEnter={point}
      onFocusCapture={point}
      onClick={() => tree.onPoint?.(path, true)}
    >
      {children}
      {isPointed.value && <Tools value={value} path={path} about={tree.about} />}
    </div>
  );
}

function Container({ tree, value, path, name, openLevels }: NodeProps & { value: object }) {
  const [isOpen, setOpen] = useState(openLevels > 0);
  const [shown, setShown] = useState(FIRST_MEMBERS);
  const names = Object.keys(value);
  return (
    <>
      <Line tree={tree} value={value} path={path}>
        <button type="button" class="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? 'down' : 'right'} />
          {name !== undefined && <span class="json-name">{name}: </span>}
          <span class="quiet">
            {Array.isArray(value) ? `[${countText(names.length)}]` : `{${countText(names.length)}}`}
          </span>
          {!isOpen && <span class="quiet"> {shortText(value, 80)}</span>}
        </button>
      </Line>
      {isOpen && (
        <ul>
          {names.slice(0, shown).map((member) => (
            <JsonNode
              key={member}
              tree={tree}
              name={member}
              value={(value as Record<string, unknown>)[member]}
              path={pointerStep(path, member)}
              openLevels={openLevels - 1}
            />
          ))}
          {names.length > shown && (
            <li>
              <button type="button" class="small" onClick={() => setShown(shown + 10 * FIRST_MEMBERS)}>
                {countText(names.length - shown)} more
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [isComplete, setComplete] = useState(false);
  const kind = value === null ? 'null' : typeof value;
  if (typeof value !== 'string' || value.length <= FIRST_CHARACTERS || isComplete)
    return <span class={`json-${kind}`}>{JSON.stringify(value)}</span>;
  return (
    <>
      <span class="json-string">{JSON.stringify(value.slice(0, FIRST_CHARACTERS)).slice(0, -1)}…</span>{' '}
      <button type="button" class="small" onClick={() => setComplete(true)}>
        all {countText(value.length)} characters
      </button>
    </>
  );
}

function Tools({ value, path, about }: { value: unknown; path: string; about: Tree['about'] }) {
  const text = () => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
  return (
    <span class="json-tools">
      {about?.(path)}
      <CopyButton text={text} what="value">
        value
      </CopyButton>
      {path !== '' && (
        <CopyButton text={path} what="path">
          path
        </CopyButton>
      )}
    </span>
  );
}
