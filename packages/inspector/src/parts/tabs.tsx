/** Tabs. The address determines which tab is selected. */
import type { ComponentChildren } from 'preact';
import { useShortcuts } from '../shell/keys.ts';
import { route, setQuery } from '../shell/router.ts';
import { Icon, type IconName } from './icons.tsx';

export interface Tab {
  /** The value of `?tab=` in the address. The first tab needs no value. */
  name: string;
  title: string;
  icon: IconName;
  /** A count next to the title. */
  count?: ComponentChildren;
  page(): ComponentChildren;
}

/** The keys 1, 2, 3 … select a tab. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const chosen = tabs.find((tab) => tab.name === route.value.query.get('tab')) ?? tabs[0]!;
  const choose = (tab: Tab) => setQuery({ tab: tab.name === tabs[0]!.name ? '' : tab.name }, {});
  useShortcuts(
    label,
    tabs.map((tab, at) => ({ keys: String(at + 1), does: tab.title.toLowerCase(), run: () => choose(tab) })),
  );
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label}>
        {tabs.map((tab) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`tab-${tab.name}`}
            aria-selected={tab === chosen}
            aria-controls="tab-page"
            onClick={() => choose(tab)}
          >
            <Icon name={tab.icon} />
            {tab.title}
            {tab.count !== undefined && <span class="quiet">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div class="tab-page" id="tab-page" role="tabpanel" aria-labelledby={`tab-${chosen.name}`}>
        {chosen.page()}
      </div>
    </>
  );
}
