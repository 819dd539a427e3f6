/** The filter of a run’s events, with the progress of the search. */
import type { RunSnapshot } from '@tidemark/core/portable';
import type { RefObject } from 'preact';
import { Icon } from '../parts/icons.tsx';
import { countText } from '../parts/numbers.ts';
import { TextBox } from '../parts/text-box.tsx';
import { setQuery } from '../shell/router.ts';
import { LIFECYCLE_TYPES } from './event-kinds.ts';
import { isEmpty, type LogFilter, patternProblem } from './log-filter.ts';
import type { LogSearch } from './log-search.ts';

const MAX_STEPS = 200;

interface LogFilterBarProps {
  filter: LogFilter;
  search: LogSearch | null;
  head: number;
  box: RefObject<HTMLInputElement | null>;
  snapshot: RunSnapshot | null;
}

export function LogFilterBar({ filter, search, head, box, snapshot }: LogFilterBarProps) {
  const problem = patternProblem(filter.text);
  return (
    <div class="filter-row">
      <label class="search">
        <Icon name="search" />
        <span class="unseen">Text in the event, or a pattern between slashes</span>
        <TextBox
          box={box}
          type="search"
          placeholder="Text, or /pattern/"
          value={filter.text}
          aria-invalid={problem !== null}
          onText={(q) => setQuery({ q })}
        />
      </label>
      <label>
        <span class="unseen">Type</span>
        <TextBox
          type="text"
          known={LIFECYCLE_TYPES}
          placeholder="Type"
          value={filter.type}
          onText={(text) => setQuery({ type: text.trim() })}
        />
      </label>
      <label>
        <span class="unseen">Step</span>
        <TextBox
          type="text"
          known={snapshot?.steps.slice(0, MAX_STEPS).map(({ stepId }) => stepId) ?? []}
          placeholder="Step"
          value={filter.step}
          onText={(text) => setQuery({ step: text.trim() })}
        />
      </label>
      <button
        type="button"
        aria-pressed={filter.isFailuresOnly}
        onClick={() => setQuery({ only: filter.isFailuresOnly ? '' : 'failures' })}
      >
        <Icon name="cross" /> Failures
      </button>
      {!isEmpty(filter) && (
        <button type="button" class="bare" onClick={() => setQuery({ q: '', type: '', step: '', only: '' })}>
          <Icon name="close" /> Clear
        </button>
      )}
      {problem !== null && <span class="tone-bad">{problem}</span>}
      {search && <Progress search={search} head={head} />}
    </div>
  );
}

function Progress({ search, head }: { search: LogSearch; head: number }) {
  return (
    <span class="quiet" role="status">
      {countText(search.seqs.value.length)} found
      {!search.isDone.value && `, ${countText(search.searchedTo.value)} of ${countText(head)} searched `}
      {!search.isDone.value && (
        <button type="button" class="small" onClick={() => search.stop()}>
          Stop
        </button>
      )}
    </span>
  );
}
