/** The foreground and background tasks of a session. */
import type { TaskState, TaskType } from '@tidemark/core/portable';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Empty } from '../parts/states.tsx';
import { Mark, Status } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import { hrefOf, route } from '../shell/router.ts';
import type { Session } from './session.ts';
import { wordsOf } from './update-text.ts';

const COLUMNS: readonly { type: TaskType; title: string }[] = [
  { type: 'FOREGROUND', title: 'Foreground' },
  { type: 'BACKGROUND', title: 'Background' },
];

export function TasksTab({ session }: { session: Session }) {
  const tasks = session.tasks.value;
  if (tasks.length === 0)
    return (
      <Empty icon="jobs" title="No tasks yet">
        <p>
          A task appears with the first <code>saveTask</code> of the session.
        </p>
      </Empty>
    );
  return (
    <div class="task-columns">
      {COLUMNS.map(({ type, title }) => {
        const listed = tasks.filter(({ taskType }) => taskType === type);
        return (
          <section key={type} aria-label={title}>
            <h2>
              {title} <span class="quiet">{listed.length}</span>
            </h2>
            <ol>
              {listed.map((task) => (
                <TaskCard key={task.taskId} task={task} />
              ))}
            </ol>
          </section>
        );
      })}
    </div>
  );
}

function TaskCard({ task }: { task: TaskState }) {
  const { taskId, status, description, priority, progress, error, traceId } = task;
  const here = Object.fromEntries(route.value.query);
  const segments = route.value.segments;
  return (
    <li class="card">
      <header>
        <h3>{description || taskId}</h3>
        <Status status={status} />
      </header>
      <div class="marks">
        {description && <Mark tone="quiet">{taskId}</Mark>}
        {priority !== 0 && <Mark tone="quiet">{`priority ${priority}`}</Mark>}
        {progress !== undefined && progress !== null && <Mark tone="quiet">{`progress ${wordsOf(progress)}`}</Mark>}
      </div>
      {error !== undefined && error !== null && <p class="tone-bad">{wordsOf(error)}</p>}
      <p class="quiet">
        Created <Time at={task.createdAt} />, updated <Time at={task.updatedAt} />
      </p>
      <div class="card-tools">
        <a class="button small" href={hrefOf(segments, { ...here, tab: 'updates', task: taskId })}>
          <Icon name="runs" /> Updates
        </a>
        {traceId && (
          <a class="button small" href={hrefOf(segments, { ...here, tab: 'trajectories', trace: traceId })}>
            <Icon name="clock" /> Trace
          </a>
        )}
      </div>
      <details>
        <summary>All fields of the task</summary>
        <JsonTree value={task} label={`Task ${taskId}`} />
      </details>
    </li>
  );
}
