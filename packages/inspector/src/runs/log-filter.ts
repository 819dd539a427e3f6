/** Filters events by text or pattern, type, step and failure. The filter is kept in the address. */
import type { RunEventRecord } from '@tidemark/core/portable';
import { route } from '../shell/router.ts';
import { isFailure } from './event-kinds.ts';

export interface LogFilter {
  /** A string to find, or a pattern between slashes: `/time(d )?out/`. */
  text: string;
  type: string;
  step: string;
  isFailuresOnly: boolean;
}

export function logFilter(): LogFilter {
  const { query } = route.value;
  return {
    text: query.get('q') ?? '',
    type: query.get('type') ?? '',
    step: query.get('step') ?? '',
    isFailuresOnly: query.get('only') === 'failures',
  };
}

export function isEmpty({ text, type, step, isFailuresOnly }: LogFilter): boolean {
  return text === '' && type === '' && step === '' && !isFailuresOnly;
}

/** Returns why a pattern is invalid, or `null` if it is valid. */
export function patternProblem(text: string): string | null {
  const pattern = patternOf(text);
  return pattern instanceof Error ? pattern.message : null;
}

/** Returns a function that tests whether an event matches the filter. */
export function matcherOf({ text, type, step, isFailuresOnly }: LogFilter): (event: RunEventRecord) => boolean {
  const pattern = patternOf(text);
  const wanted = text.toLowerCase();
  const hasText = (event: RunEventRecord) => {
    const all = JSON.stringify(event);
    return pattern instanceof RegExp ? pattern.test(all) : all.toLowerCase().includes(wanted);
  };
  return (event) =>
    (type === '' || event.eventType === type) &&
    (step === '' || event.stepId === step) &&
    (!isFailuresOnly || isFailure(event)) &&
    (text === '' || hasText(event));
}

function patternOf(text: string): RegExp | Error | null {
  const source = /^\/(.+)\/$/.exec(text)?.[1];
  if (source === undefined) return null;
  try {
    return new RegExp(source, 'i');
  } catch (error) {
    return error as Error;
  }
}
