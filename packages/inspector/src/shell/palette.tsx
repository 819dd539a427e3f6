/** The jump dialog: finds any id or view by a typed text. */
import { useSignal } from '@preact/signals';
import type { KeyboardEventHandler } from 'preact';
import { useEffect } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { FINDERS } from './finders.ts';
import type { Finding } from './finding.ts';
import { hrefOf, navigate } from './router.ts';
import { VIEWS } from './views.ts';

const DEBOUNCE_MS = 120;

export function Palette({ onClose }: { onClose(): void }) {
  const text = useSignal('');
  const found = useSignal<Finding[]>([]);
  const chosen = useSignal(0);
  const isSearching = useSignal(false);
  useEffect(() => {
    const asking = new AbortController();
    const query = text.value.trim();
    found.value = viewsNamed(query);
    chosen.value = 0;
    isSearching.value = query !== '';
    const timer = setTimeout(() => search(query), DEBOUNCE_MS);
    async function search(query: string) {
      const asked = query === '' ? [] : FINDERS.map((find) => find(query, asking.signal).catch(() => []));
      const answers = await Promise.all(asked);
      if (asking.signal.aborted) return;
      found.value = [...answers.flat(), ...viewsNamed(query)];
      isSearching.value = false;
    }
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [text.value]);

  const open = (finding: Finding | undefined) => {
    if (!finding) return;
    onClose();
    navigate(finding.href);
  };
  const onKeyDown: KeyboardEventHandler<HTMLInputElement> = (event) => {
    if (event.key === 'Enter') open(found.value[chosen.value]);
    else if (event.key === 'ArrowDown') chosen.value = Math.min(chosen.value + 1, found.value.length - 1);
    else if (event.key === 'ArrowUp') chosen.value = Math.max(chosen.value - 1, 0);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog title="Jump to any id" onClose={onClose} isBare>
      <div class="palette">
        <div class="palette-box">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-label="An id, or the name of a view"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={found.value.length > 0 ? `palette-${chosen.value}` : undefined}
            placeholder="Paste an id: a run, run#17, a session, a key, a job as type/id …"
            autoComplete="off"
            spellcheck={false}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <div id="palette-list" role="listbox" aria-label="Results">
          {found.value.map((finding, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys.
            <div
              key={finding.href + finding.kind}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === chosen.value}
              onClick={() => open(finding)}
            >
              <Icon name={finding.icon} />
              <span class="palette-title">{finding.title}</span>
              <span class="quiet">{finding.detail}</span>
              <span class="quiet palette-kind">{finding.kind}</span>
            </div>
          ))}
        </div>
        {found.value.length === 0 && (
          <p class="quiet palette-nothing" role="status">
            {isSearching.value ? 'Searching …' : 'No results.'}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function viewsNamed(query: string): Finding[] {
  const views = VIEWS.filter(({ title }) => title.toLowerCase().includes(query.toLowerCase()));
  return views.map(({ name, title, icon }) => ({ kind: 'view', icon, title, href: hrefOf([name]) }));
}
