/** What updates and steering say, in words. */
import type { StateUpdate, SteeringEvent } from '@tidemark/core/portable';
import type { IconName } from '../parts/icons.tsx';
import { shortText } from '../parts/json.ts';
import type { Tone } from '../parts/status.tsx';

const WORDS = ['text', 'message', 'content', 'answer', 'comment', 'reason'];
const MOST_CHARACTERS = 400;

/** The text that something carries, or itself in one line. */
export function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') {
    for (const name of WORDS) {
      const word = (value as Record<string, unknown>)[name];
      if (typeof word === 'string' && word !== '') return word;
    }
    if (Object.keys(value).length === 0) return '';
  }
  return shortText(value, MOST_CHARACTERS);
}

const LOOKS: Record<string, { icon: IconName; tone: Tone }> = {
  RESULT: { icon: 'check', tone: 'good' },
  ERROR: { icon: 'cross', tone: 'bad' },
  NOTIFICATION: { icon: 'attention', tone: 'warn' },
  TOOL_CALL: { icon: 'jobs', tone: 'busy' },
  CHECKPOINT: { icon: 'shield', tone: 'quiet' },
  APPROVE: { icon: 'check', tone: 'good' },
  REJECT: { icon: 'cross', tone: 'bad' },
  CANCEL: { icon: 'close', tone: 'bad' },
  PAUSE: { icon: 'pause', tone: 'warn' },
  RESUME: { icon: 'play', tone: 'busy' },
  USER_MESSAGE: { icon: 'sessions', tone: 'quiet' },
};

export function lookOf(type: string): { icon: IconName; tone: Tone } {
  return Object.hasOwn(LOOKS, type) ? LOOKS[type]! : { icon: 'dot', tone: 'quiet' };
}

/** Something that was said or done in a session. */
export interface Utterance {
  id: string;
  taskId: string;
  by: 'person' | 'agent';
  type: string;
  words: string;
  /** Whole, for who wants to look closer. */
  content: unknown;
  at: string;
  /** Work on the way, not an answer. */
  isAside: boolean;
}

const ANSWERS = new Set(['RESULT', 'ERROR', 'NOTIFICATION']);

/** Both sides of a conversation in the order they were told. */
export function conversationOf(
  updates: readonly StateUpdate[],
  steering: readonly SteeringEvent[],
): readonly Utterance[] {
  const said = steering.map(
    ({ eventId, taskId, eventType, payload, createdAt }): Utterance => ({
      ...{ id: `s ${eventId}`, taskId, by: 'person', type: eventType, at: createdAt, isAside: false },
      ...{ words: wordsOf(payload), content: payload },
    }),
  );
  const done = updates.map(
    ({ updateId, taskId, updateType, content, createdAt }): Utterance => ({
      ...{ id: `u ${updateId}`, taskId, by: 'agent', type: updateType, at: createdAt },
      ...{ words: wordsOf(content), content, isAside: !ANSWERS.has(updateType) },
    }),
  );
  // Sorting is stable: what has the same time stays in the order of arrival, questions first.
  return [...said, ...done].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
