/** The filters of the list of runs, with the number of runs per status. */
import type { Signal } from '@preact/signals';
import type { RunStatus, RunSummary } from '@tidemark/core/portable';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import { useTopic } from '../live/stream.ts';
import { FRAMEWORKS } from '../parts/frameworks.ts';
import { Icon } from '../parts/icons.tsx';
import { countText } from '../parts/numbers.ts';
import { Status } from '../parts/status.tsx';
import { TextBox } from '../parts/text-box.tsx';
import { listRuns, STATUS_CHOICES } from './api.ts';
import { changeFilter, type FilterName, type FilterQuery, NO_FILTER, SPANS, serverFilter } from './runs-filter.ts';

/** Larger counts are shown as `1,000+`. */
const MAX_COUNTED = 1_000;
/** The minimum time between two counts. */
const RECOUNT_DELAY_MS = 10_000;
/** The maximum number of suggested values per filter. */
const MAX_KNOWN = 100;

const CHOICES: readonly { name: FilterName; title: string; of(run: RunSummary): string }[] = [
  { name: 'tenant', title: 'Tenant', of: (run) => run.tenantId },
  { name: 'project', title: 'Project', of: (run) => run.projectId },
  { name: 'environment', title: 'Environment', of: (run) => run.environmentId },
  { name: 'plan', title: 'Plan', of: (run) => run.planId },
];

interface FilterBarProps {
  filter: FilterQuery;
  rows: Signal<readonly RunSummary[]>;
  search: RefObject<HTMLInputElement | null>;
}

export function RunsFilterBar({ filter, rows, search }: FilterBarProps) {
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <div class="filter-bar">
      <StatusBar filter={filter} />
      <div class="filter-row">
        <label class="search">
          <Icon name="search" />
          <span class="unseen">Search by id, plan, scope or labels</span>
          <TextBox
            box={search}
            type="search"
            placeholder="Id, plan, label …"
            value={filter.q}
            onText={(text) => changeFilter({ q: text.trim() })}
          />
        </label>
        {CHOICES.map(({ name, title, of }) => (
          <label key={name}>
            <span class="unseen">{title}</span>
            <TextBox
              class={filter[name] ? 'set' : undefined}
              type="text"
              known={[...new Set(rows.value.map(of))].slice(0, MAX_KNOWN)}
              placeholder={title}
              value={filter[name]}
              onText={(text) => changeFilter({ [name]: text.trim() })}
            />
          </label>
        ))}
        <label>
          <span class="unseen">Time of the last event</span>
          <select
            class={filter.since ? 'set' : undefined}
            value={filter.since}
            onChange={(event) => changeFilter({ since: event.currentTarget.value })}
          >
            <option value="">any time</option>
            {Object.entries(SPANS).map(([name, { title }]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">Framework that owns the runs</span>
          <select
            class={filter.owner ? 'set' : undefined}
            value={filter.owner}
            onChange={(event) => changeFilter({ owner: event.currentTarget.value })}
          >
            <option value="">own runs</option>
            {Object.entries(FRAMEWORKS)
              .filter(([, { runs }]) => runs !== undefined)
              .map(([name, { title, runs }]) => (
                <option key={name} value={name}>
                  {title} {runs}
                </option>
              ))}
            <option value="any">all</option>
          </select>
        </label>
        {isFiltered && (
          <button type="button" class="bare" onClick={() => changeFilter(NO_FILTER)}>
            <Icon name="close" /> Clear
          </button>
        )}
      </div>
    </div>
  );
}

/**
 * Shows the number of runs per status under the other filters. Ignores the text, because the server cannot filter by
 * text.
 */
function StatusBar({ filter }: { filter: FilterQuery }) {
  const others = { ...filter, status: '', q: '' };
  const counts = useResource(JSON.stringify(others), (signal) => countByStatus(others, signal));
  const recount = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const onItem = () => {
    recount.current ??= setTimeout(() => {
      recount.current = undefined;
      counts.reload();
    }, RECOUNT_DELAY_MS);
  };
  useTopic({ topic: 'runs', after: null, onItem }, JSON.stringify(others));
  useEffect(() => () => clearTimeout(recount.current), []);
  const choose = (status: string) => changeFilter({ status: filter.status === status ? '' : status });
  return (
    <fieldset class="status-bar">
      <legend class="unseen">Status</legend>
      {STATUS_CHOICES.map((status) => (
        <button key={status} type="button" aria-pressed={filter.status === status} onClick={() => choose(status)}>
          <Status status={status} />
          <span class="number">{counts.data.value?.get(status) ?? '…'}</span>
        </button>
      ))}
    </fieldset>
  );
}

async function countByStatus(filter: FilterQuery, signal: AbortSignal): Promise<Map<RunStatus, string>> {
  const counted = await Promise.all(
    STATUS_CHOICES.map(async (status) => {
      const page = { limit: MAX_COUNTED };
      const { items, next } = await listRuns({ ...serverFilter(filter), status }, page, signal);
      return [status, `${countText(items.length)}${next === undefined ? '' : '+'}`] as const;
    }),
  );
  return new Map(counted);
}
