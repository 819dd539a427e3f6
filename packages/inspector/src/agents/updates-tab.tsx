/** The updates of a session, live, for all tasks or for a single task. */
import { computed } from '@preact/signals';
import type { StateUpdate } from '@tidemark/core/portable';
import { useEffect, useMemo } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { counted } from '../parts/numbers.ts';
import { useRows } from '../parts/rows.ts';
import { Command, Empty } from '../parts/states.tsx';
import { Time } from '../parts/times.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { route, setQuery } from '../shell/router.ts';
import type { Session } from './session.ts';
import { lookOf, wordsOf } from './update-text.ts';

const ROW_HEIGHT = 30;
const COLUMNS = ['When', 'Type', 'Task', 'Content'];

export function UpdatesTab({ session }: { session: Session }) {
  const { query } = route.value;
  const [taskId, open] = [query.get('task') ?? '', query.get('update')];
  const updates = useMemo(
    () =>
      computed(() =>
        taskId === '' ? session.updates.value : session.updates.value.filter((update) => update.taskId === taskId),
      ),
    [session, taskId],
  );
  const rows = useRows(ROW_HEIGHT, updates);
  useEffect(() => {
    if (rows.chosen.value < 0 || rows.list.isAtEnd) rows.list.scrollToEnd();
  }, [updates.value.length]);
  if (session.updates.value.length === 0)
    return (
      <Empty icon="runs" title="No updates yet">
        <p>Tasks report their progress as updates, which appear here as they are saved:</p>
        <Command>{`await store.agents.saveUpdate({ sessionId, taskId, updateId, updateType: 'PROGRESS', content, createdAt });`}</Command>
      </Empty>
    );
  const opened = open === null ? undefined : updates.value.find(({ updateId }) => updateId === open);
  return (
    <div class={opened ? 'beside has-side updates' : 'beside updates'}>
      <div class="beside-list">
        <div class="filter-row">
          <label>
            <span class="unseen">Task</span>
            <select
              class={taskId ? 'set' : undefined}
              value={taskId}
              onChange={(event) => setQuery({ task: event.currentTarget.value })}
            >
              <option value="">all tasks</option>
              {session.tasks.value.map((task) => (
                <option key={task.taskId} value={task.taskId}>
                  {task.description || task.taskId}
                </option>
              ))}
            </select>
          </label>
          <span class="quiet">{counted(updates.value.length, 'update')}</span>
        </div>
        <Windowed
          {...rows.shown}
          label="Updates"
          columns={COLUMNS}
          onOpen={(index) => {
            rows.chosen.value = index;
            setQuery({ update: updates.value[index]?.updateId });
          }}
          row={(index) => ({ cells: <UpdateCells update={updates.value[index]} /> })}
        />
      </div>
      {opened && (
        <article class="card" aria-label="Update">
          <header>
            <h2>{opened.updateId}</h2>
            <button type="button" class="bare" onClick={() => setQuery({ update: '' })}>
              <Icon name="close" />
              <span class="unseen">Close the update</span>
            </button>
          </header>
          <JsonTree value={opened} label={`Update ${opened.updateId}`} openLevels={4} />
        </article>
      )}
    </div>
  );
}

/** `update` is absent for a row that was removed before the next rendering. */
function UpdateCells({ update }: { update: StateUpdate | undefined }) {
  if (!update) return null;
  const { icon, tone } = lookOf(update.updateType);
  return (
    <>
      <span role="gridcell">
        <Time at={update.createdAt} />
      </span>
      <span role="gridcell" class={`event-type tone-${tone}`}>
        <Icon name={icon} />
        <span>{update.updateType}</span>
      </span>
      <span role="gridcell" class="quiet" title={update.taskId}>
        {update.taskId}
      </span>
      <span role="gridcell" class="summary">
        {wordsOf(update.content)}
      </span>
    </>
  );
}
