/** The jobs of each state. They are read again when a job changes. */
import type { Job, ListedJobState, Page } from '@tidemark/core/portable';
import { encodeSegment } from '@tidemark/wire';
import { useEffect, useRef } from 'preact/hooks';
import { type Resource, useResource } from '../live/resource.ts';
import { storeInfo } from '../live/store-info.ts';
import { useTopic } from '../live/stream.ts';
import type { Tenant } from '../live/tenant.ts';
import { LISTED_STATES, listJobs } from './api.ts';

const JOB_PREFIX = 'gbe.state.tasks.';
const COLUMN = 100;
/** The minimum time between two reads of the board. */
const RELOAD_DELAY_MS = 700;

export type Board = ReadonlyMap<ListedJobState, Page<Job>>;

/** Returns the board of a tenant, for all job types or for a single type. */
export function useBoard(taskType: string | undefined, tenant: Tenant): Resource<Board> {
  const key = JSON.stringify([tenant, taskType]);
  const board = useResource(key, (signal) => readBoard(taskType, tenant, signal));
  const info = useResource('info', storeInfo);
  const isWatched = info.data.value?.capabilities['kv.watch'] === true;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const reload = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      board.reload();
    }, RELOAD_DELAY_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const topic = `kv/${encodeSegment(taskType === undefined ? JOB_PREFIX : `${JOB_PREFIX}${taskType}.`)}`;
  const subscription = { topic, ...(tenant && { tenantId: tenant }), after: null, onItem: reload, onReset: reload };
  useTopic(isWatched ? subscription : null, `${key} ${isWatched}`);
  return board;
}

async function readBoard(taskType: string | undefined, tenant: Tenant, signal: AbortSignal): Promise<Board> {
  const read = async (state: ListedJobState) =>
    [state, await listJobs({ state, taskType, limit: COLUMN, tenant }, signal)] as const;
  return new Map(await Promise.all(LISTED_STATES.map(read)));
}
