/** The messages of people and agents in order, with intermediate work in small print. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { countText } from '../parts/numbers.ts';
import { Empty } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import type { Session } from './session.ts';
import { SteerBox } from './steer-box.tsx';
import { conversationOf, lookOf, type Utterance } from './update-text.ts';

const FIRST = 150;
const FURTHER = 500;
/** The list scrolls along with new messages while it is scrolled this close to its end. */
const NEAR_PX = 80;

export function Conversation({ session }: { session: Session }) {
  const { updates, steering, tasks } = session;
  const all = useMemo(() => conversationOf(updates.value, steering.value), [updates.value, steering.value]);
  const [shown, setShown] = useState(FIRST);
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = list.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [all.length]);
  const first = Math.max(0, all.length - shown);
  const taskOf = new Map(tasks.value.map((task) => [task.taskId, task]));
  return (
    <div class="conversation">
      {all.length === 0 ? (
        <Empty icon="sessions" title="No messages yet">
          <p>Steering events and updates of the session appear here in order.</p>
        </Empty>
      ) : (
        <ol
          ref={list}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
          tabIndex={0}
          aria-label="Conversation"
          onScroll={({ currentTarget: it }) => {
            isAtEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < NEAR_PX;
          }}
        >
          {first > 0 && (
            <li class="turn">
              <button type="button" class="small" onClick={() => setShown(shown + FURTHER)}>
                {countText(first)} earlier
              </button>
            </li>
          )}
          {all.slice(first).map((utterance, at) => {
            const before = all[first + at - 1];
            const task = taskOf.get(utterance.taskId);
            return (
              <>
                {before?.taskId !== utterance.taskId && (
                  <li key={`turn ${utterance.id}`} class="turn">
                    <span class="strong">{task?.description || utterance.taskId}</span>
                    {task && <Status status={task.status} />}
                  </li>
                )}
                <Message key={utterance.id} utterance={utterance} />
              </>
            );
          })}
        </ol>
      )}
      <SteerBox session={session} />
    </div>
  );
}

function Message({ utterance }: { utterance: Utterance }) {
  const { by, type, words, content, at, isAside } = utterance;
  const [isOpen, setOpen] = useState(false);
  const { icon, tone } = lookOf(type);
  return (
    <li class={`said by-${by}${isAside ? ' aside' : ''}`}>
      <p class={`tone-${tone} said-head`}>
        <Icon name={icon} />
        {type.toLowerCase().replaceAll('_', ' ')}
        <span class="quiet">
          <Time at={at} />
        </span>
        <button type="button" class="bare small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? 'up' : 'more'} />
          <span class="unseen">Show the full content</span>
        </button>
      </p>
      {words !== '' && <p class="words">{words}</p>}
      {isOpen && <JsonTree value={content ?? null} label="Full content" />}
    </li>
  );
}
