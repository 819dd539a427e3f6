/** Reads the contents of a session, for `sessions show`. */
import type { Store } from '@tidemark/core';

/** Maximum number of items that are counted, per kind. */
export const MAX_COUNTED = 1_000;
/** Maximum number of traces that are shown. */
export const MAX_TRACES = 10;

/** A number of items; `exact` is false if there may be more. */
export interface Counted {
  count: number;
  exact: boolean;
}

export interface SessionSummary {
  sessionId: string;
  /** The time of the newest task, update or steering event that was read. */
  lastActiveAt?: string;
  /** Tasks by status. */
  tasks: Record<string, number>;
  updates: Counted;
  steering: Counted;
  /** Pauses by state. */
  pauses: Record<string, number>;
  artifacts: Counted;
  /** The most recent traces, newest first. */
  traces: string[];
}

/** Returns the summary of a session, or `null` if nothing is stored under its id. */
export async function summarise({ agents, artifacts }: Store, sessionId: string): Promise<SessionSummary | null> {
  const page = { limit: MAX_COUNTED };
  const tasks = [];
  for await (const task of agents.readTasks(sessionId)) {
    tasks.push(task);
    if (tasks.length === MAX_COUNTED) break;
  }
  const [updates, steering, pauses, stored, traces] = await Promise.all([
    agents.listUpdatesPage(sessionId, page),
    agents.listSteeringPage(sessionId, page),
    agents.listPauses({ sessionId, ...page }),
    artifacts.list({ sessionId }, page),
    agents.listTraces(sessionId, MAX_TRACES),
  ]);
  const found = [tasks, updates.items, steering.items, pauses.items, stored.items, traces];
  if (found.every(({ length }) => length === 0)) return null;
  const times = [
    ...tasks.map(({ updatedAt }) => updatedAt),
    ...[...updates.items, ...steering.items].map((it) => it.createdAt),
  ];
  const lastActiveAt = times.sort().at(-1);
  return {
    sessionId,
    ...(lastActiveAt !== undefined && { lastActiveAt }),
    tasks: tally(tasks.map(({ status }) => status)),
    updates: counted(updates),
    steering: counted(steering),
    pauses: tally(pauses.items.map(({ state }) => state)),
    artifacts: counted(stored),
    traces,
  };
}

function counted({ items, next }: { items: readonly unknown[]; next?: string }): Counted {
  return { count: items.length, exact: next === undefined };
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Formats counts as one line: `2 RUNNING, 1 FAILED`. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}

/** Formats a number with a plus sign if there may be more. */
export function atLeast({ count, exact }: Counted): string {
  return `${count}${exact ? '' : '+'}`;
}
