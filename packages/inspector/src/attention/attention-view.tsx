/** Lists everything that needs attention: the reason, what happens next, and possible actions. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { JobActions } from '../jobs/job-actions.tsx';
import { TakeBack } from '../jobs/take-back.tsx';
import { messageOf } from '../live/http.ts';
import { useResource } from '../live/resource.ts';
import { CommandLine } from '../parts/command-line.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
import { counted, countText } from '../parts/numbers.ts';
import { Pair } from '../parts/pair.tsx';
import { Command, Empty, Waiting } from '../parts/states.tsx';
import { Time } from '../parts/times.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { attentionCount, concernGroups, hasMoreTenants, refreshAttention, useAttention } from './attention.ts';
import type { Concern, ConcernGroup } from './concern.ts';
import { markSeen, newsSince } from './last-visit.ts';
import { Loops } from './loops.tsx';
import { laggingRuns } from './run-concerns.ts';

const FIRST = 6;
const ICONS: Record<Concern['tone'], IconName> = { bad: 'cross', warn: 'attention', quiet: 'reload' };

export function AttentionView() {
  useAttention();
  const lag = useResource('lag', laggingRuns);
  const refresh = () => {
    void refreshAttention();
    lag.reload();
  };
  const seen = () => {
    markSeen();
    refresh();
  };
  useShortcuts('Attention', [
    { keys: 'r', does: 'refresh', run: refresh },
    { keys: 's', does: 'mark failed runs as seen', run: seen },
  ]);
  const found = concernGroups.value;
  if (found === null) return <Waiting what="what needs attention" />;
  const lagging: ConcernGroup = {
    name: 'lag',
    title: 'Snapshots that lag behind',
    icon: 'clock',
    concerns: lag.data.value ?? [],
    error: lag.error.value,
  };
  const groups = [...found, lagging].filter(({ concerns, error }) => concerns.length > 0 || error !== undefined);
  return (
    <section class="view scrolls attention-view">
      <div class="view-head">
        <h1>Attention</h1>
        <span class="quiet" role="status">
          {attentionCount.value === 0 ? 'Nothing needs attention' : counted(attentionCount.value, 'item')}
        </span>
        <button type="button" class="bare" onClick={refresh} title="Refresh (r)">
          <Icon name="reload" />
          <span class="unseen">Refresh</span>
        </button>
      </div>
      {hasMoreTenants.value && (
        <p class="tone-warn">Some tenants were not checked. Choose a tenant under Jobs or Pauses to see its items.</p>
      )}
      {groups.length === 0 && <NothingToDo />}
      {groups.map((group) => (
        <Group key={group.name} group={group} onSeen={group.name === 'failed' ? seen : undefined} />
      ))}
      <Loops />
    </section>
  );
}

function Group({ group, onSeen }: { group: ConcernGroup; onSeen: (() => void) | undefined }): JSX.Element {
  const [shown, setShown] = useState(FIRST);
  const { title, icon, concerns, error } = group;
  return (
    <section class="concern-group" aria-label={title}>
      <h2>
        <Icon name={icon} /> {title} <span class="quiet">{countText(concerns.length)}</span>
        {onSeen && (
          <>
            <span class="quiet">
              since <Time at={new Date(newsSince.value).toISOString()} />
            </span>
            <button type="button" class="small" onClick={onSeen}>
              Mark as seen
            </button>
          </>
        )}
      </h2>
      {error !== undefined && <p class="tone-bad">Check failed: {messageOf(error)}</p>}
      <ol>
        {concerns.slice(0, shown).map((concern) => (
          <ConcernRow key={concern.id} concern={concern} />
        ))}
      </ol>
      {concerns.length > shown && (
        <button type="button" class="small" onClick={() => setShown(concerns.length)}>
          {countText(concerns.length - shown)} more
        </button>
      )}
    </section>
  );
}

function ConcernRow({ concern }: { concern: Concern }) {
  const { title, detail, href, tone, why, next, command, dead, overdue } = concern;
  return (
    <li class="concern">
      <p class="concern-title">
        <Icon name={ICONS[tone]} class={`tone-${tone}`} />
        <span>
          {href === undefined ? <span class="strong">{title}</span> : <a href={href}>{title}</a>}{' '}
          <span class="quiet">{detail}</span>
        </span>
      </p>
      <dl class="pairs outlook">
        <Pair name="Why">{why}</Pair>
        <Pair name="Next">{next}</Pair>
      </dl>
      <div class="concern-tools">
        {dead && <JobActions job={dead.job} tenant={dead.tenant} onDone={() => void refreshAttention()} />}
        {overdue && (
          <TakeBack overdue={overdue.overdue} tenant={overdue.tenant} onDone={() => void refreshAttention()} />
        )}
        <CommandLine line={command} />
      </div>
    </li>
  );
}

function NothingToDo() {
  return (
    <Empty icon="check" title="No problems found">
      <p>
        This page lists stuck and failed jobs, pauses that expire soon, runs that failed since your last visit, and
        settings that put stored data at risk. To see an example, fill a store with demo data:
      </p>
      <Command>npx tidemark demo</Command>
    </Empty>
  );
}
