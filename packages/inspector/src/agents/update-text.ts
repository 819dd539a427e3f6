/** Texts and icons for updates and steering events. */
import type { StateUpdate, SteeringEvent } from '@tidemark/core/portable';
import type { IconName } from '../parts/icons.tsx';
import { shortText } from '../parts/json.ts';
import type { Tone } from '../parts/status.tsx';

const WORDS = ['text', 'message', 'content', 'answer', 'comment', 'reason'];
const MAX_CHARACTERS = 400;

/** Returns the text in a value, or the value itself on one line. */
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
  return shortText(value, MAX_CHARACTERS);
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

/** An update or a steering event as a message of the conversation. */
export interface Utterance {
  id: string;
  taskId: string;
  by: 'person' | 'agent';
  type: string;
  words: string;
  /** The full content. */
  content: unknown;
  at: string;
  /** True for intermediate work, false for messages and results. */
  isAside: boolean;
}

const ANSWERS = new Set(['RESULT', 'ERROR', 'NOTIFICATION']);

/** Merges updates and steering events into one conversation, in order of time. */
export function conversationOf(
  updates: readonly StateUpdate[],
  steering: readonly SteeringEvent[],
): readonly Utterance[] {
  const messages = steering.map(
    ({ eventId, taskId, eventType, payload, createdAt }): Utterance => ({
      ...{ id: `s ${eventId}`, taskId, by: 'person', type: eventType, at: createdAt, isAside: false },
      ...{ words: wordsOf(payload), content: payload },
    }),
  );
  const answers = updates.map(
    ({ updateId, taskId, updateType, content, createdAt }): Utterance => ({
      ...{ id: `u ${updateId}`, taskId, by: 'agent', type: updateType, at: createdAt },
      ...{ words: wordsOf(content), content, isAside: !ANSWERS.has(updateType) },
    }),
  );
  // The sort is stable, so messages with the same time keep their order, with steering events first.
  return [...messages, ...answers].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
