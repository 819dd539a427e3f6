/** A form that sends a steering event to a task. The event stays in the session's log. */
import { useSignal } from '@preact/signals';
import type { SteeringEventType } from '@tidemark/core/portable';
import { useAction } from '../live/action.ts';
import { CommandLine, tidemarkLine } from '../parts/command-line.tsx';
import { notify } from '../parts/copy.tsx';
import { newId } from '../parts/ids.ts';
import { Failure } from '../parts/states.tsx';
import { saveSteering } from './api.ts';
import type { Session } from './session.ts';

const TYPES: Record<SteeringEventType, string> = {
  USER_MESSAGE: 'Send a message',
  INJECT_CONTEXT: 'Add context',
  REDIRECT: 'Redirect',
  PRIORITIZE: 'Prioritise',
  PAUSE: 'Pause',
  RESUME: 'Resume',
  APPROVE: 'Approve',
  REJECT: 'Reject',
  CANCEL: 'Cancel',
};

export function SteerBox({ session }: { session: Session }) {
  const { sessionId, tenant, tasks } = session;
  const type = useSignal<SteeringEventType>('USER_MESSAGE');
  const wanted = useSignal('');
  const text = useSignal('');
  const action = useAction();
  const last = tasks.value.findLast(({ status }) => status === 'RUNNING' || status === 'PAUSED') ?? tasks.value.at(-1);
  const taskId = wanted.value || last?.taskId;
  if (taskId === undefined) return <p class="quiet">There is no task to steer yet.</p>;
  const payload = text.value.trim() === '' ? {} : { text: text.value.trim() };
  const needsText = type.value === 'USER_MESSAGE' || type.value === 'INJECT_CONTEXT' || type.value === 'REDIRECT';
  const send = () => {
    const createdAt = new Date().toISOString();
    const [eventId, eventType] = [newId(), type.value];
    const event = { sessionId, taskId, eventId, eventType, payload, source: 'inspector', createdAt };
    action.run(async () => {
      await saveSteering(event, tenant);
      text.value = '';
      notify('Sent');
      session.refresh();
    });
  };
  const options = { type: type.value, data: JSON.stringify(payload) };
  return (
    <form
      class="steer-box"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label>
        <span class="unseen">Task</span>
        <select
          value={taskId}
          onChange={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        >
          {tasks.value.map((task) => (
            <option key={task.taskId} value={task.taskId}>
              {task.description || task.taskId} · {task.status.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="unseen">Action</span>
        <select
          value={type.value}
          onChange={(event) => {
            type.value = event.currentTarget.value as SteeringEventType;
          }}
        >
          {Object.entries(TYPES).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label class="steer-text">
        <span class="unseen">Message to the task</span>
        <textarea
          rows={2}
          placeholder="Message to the task …"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" class="primary" disabled={action.isBusy.value || (needsText && payload.text === undefined)}>
        Send
      </button>
      {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
      <CommandLine line={tidemarkLine('sessions steer', [sessionId, taskId], tenant, options)} />
    </form>
  );
}
