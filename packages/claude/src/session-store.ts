/** A session store for the Claude Agent SDK that keeps each transcript as an append-only log on any engine. */
import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from '@anthropic-ai/claude-agent-sdk';
import { type KvRecord, OWNER_LABEL, type RunSummary, type Store, TidemarkError, textOf } from '@tidemark/core';
import { KeyedMutex, keySegment, LruMap, OwnedLogs, runOf, ValueReader } from '@tidemark/core/adapters';
import { ENTRY, eventsOfEntry } from './entries.ts';
import { ADAPTER, logOf, PROJECT_LABEL, partsPrefix, projectPrefix, SESSION_FIELD, SUBPATH_FIELD } from './keys.ts';
import { foldSummary, type StoredSummary, summaryOf } from './summaries.ts';

const REMEMBERED_LOGS = 1_000;

/** A main transcript that has entries. */
interface Session {
  sessionId: string;
  /** When its last entry was stored, in milliseconds. */
  mtime: number;
  recordKey: string;
  runId: string;
  lastSeq: number;
  summary: StoredSummary;
}

/**
 * Stores the sessions of the Claude Agent SDK in a Tidemark store on any engine.
 *
 * Each transcript is a log. An entry with a `uuid` is stored once, even if two processes send it. The id of a deleted
 * session can be reused. Lists return the newest session first.
 *
 * @example
 * const store = await open('sqlite:agent.db');
 * const sessionStore = new TidemarkSessionStore(store);
 * for await (const message of query({ prompt, options: { sessionStore } })) console.log(message.type);
 */
export class TidemarkSessionStore implements SessionStore {
  readonly #store: Store;
  readonly #logs: OwnedLogs;
  readonly #lanes = new KeyedMutex();
  /**
   * The runs of logs to which this process has appended. If such a run was deleted in the meantime, the next append to
   * it fails.
   */
  readonly #runs = new LruMap<string, string>(REMEMBERED_LOGS);

  /** @throws `INVALID_ARGUMENT` if the argument is not a store. */
  constructor(store: Store) {
    if (typeof store?.runs?.appendEvents !== 'function') {
      const rule = 'must be an open Tidemark store';
      throw new TidemarkError('INVALID_ARGUMENT', `store ${rule}`, { field: 'store', rule });
    }
    this.#store = store;
    this.#logs = new OwnedLogs(store, ADAPTER);
  }

  /**
   * Appends entries in order. Skips an entry whose `uuid` the transcript already contains. If one process makes several
   * calls for the same transcript, their entries are stored in the order of the calls.
   *
   * @throws `INVALID_ARGUMENT` or `INVALID_PAYLOAD` for an entry that is not a JSON object, before anything is stored.
   */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const log = logOf(key);
    const groups = entries.map((entry, at) => eventsOfEntry(entry, at, this.#store.info.limits.eventPayloadBytes));
    if (groups.length === 0) return;
    await this.#lanes.run(log.key, {}, async () => {
      const { runId, isRemoved } = await this.#logs.append(log, groups, this.#runs.get(log.key));
      if (isRemoved) {
        this.#runs.delete(log.key);
        return;
      }
      this.#runs.set(log.key, runId);
      if (key.subpath === undefined) await foldSummary(this.#store, log.key, runId, key);
    });
  }

  /** Returns the entries of a transcript, oldest first, or `null` if the transcript has no entries. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const log = logOf(key);
    for (;;) {
      const runId = await this.#logs.find(log.key);
      if (runId === null) return null;
      const reader = new ValueReader<SessionStoreEntry>(ENTRY);
      const entries: SessionStoreEntry[] = [];
      for await (const event of this.#store.runs.readEvents(runId)) {
        const read = reader.next(event);
        if (read !== null) entries.push(read.value);
      }
      // If the transcript was deleted while it was read, its end may be missing.
      if ((await this.#logs.find(log.key)) === runId) return entries.length === 0 ? null : entries;
    }
  }

  /** Returns the sessions of a project with the time of their last entry, newest first. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return (await this.#sessions(projectKey)).map(({ sessionId, mtime }) => ({ sessionId, mtime }));
  }

  /** Returns the summaries of the sessions of a project, newest first, without reading their transcripts. */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const summaries: SessionSummaryEntry[] = [];
    for (const { sessionId, mtime, recordKey, runId, lastSeq, summary } of await this.#sessions(projectKey)) {
      // The summary lags behind only if a process stopped between storing entries and folding them.
      const isBehind = summary.folded < lastSeq;
      const current = isBehind ? await foldSummary(this.#store, recordKey, runId, { projectKey, sessionId }) : summary;
      if (current !== null) summaries.push({ sessionId, mtime, data: current.data });
    }
    return summaries;
  }

  /**
   * Deletes a transcript. Without `subpath`, also deletes the transcripts of the session's subagents. The session id
   * can be used again.
   */
  async delete(key: SessionKey): Promise<void> {
    const log = logOf(key);
    await this.#lanes.run(log.key, {}, async () => {
      this.#runs.delete(log.key);
      await this.#logs.remove(log.key);
      if (key.subpath !== undefined) return;
      for await (const part of this.#store.kv.scan(partsPrefix(key.projectKey, key.sessionId), undefined, {
        keysOnly: true,
      })) {
        this.#runs.delete(part.key);
        await this.#logs.remove(part.key);
      }
    });
  }

  /** Returns the subpaths of a session, which name the transcripts of its subagents. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const subpaths: string[] = [];
    for await (const { record } of this.#store.kv.scan(partsPrefix(key.projectKey, key.sessionId))) {
      const subpath = textOf(record.fields[SUBPATH_FIELD]);
      const runId = runOf(record);
      if (subpath !== null && runId !== null && (await this.#store.runs.headSeq(runId)) > 0) subpaths.push(subpath);
    }
    return subpaths;
  }

  async #sessions(projectKey: string): Promise<Session[]> {
    const records: { key: string; record: KvRecord }[] = [];
    for await (const entry of this.#store.kv.scan(projectPrefix(projectKey))) records.push(entry);
    if (records.length === 0) return [];
    const runs = await this.#runsOf(projectKey);
    const sessions: Session[] = [];
    for (const { key, record } of records) {
      const run = runs.get(runOf(record) ?? '');
      const sessionId = textOf(record.fields[SESSION_FIELD]);
      if (run === undefined || sessionId === null) continue;
      const { runId, lastEventSeq } = run;
      const mtime = Date.parse(run.updatedAt);
      sessions.push({ sessionId, mtime, recordKey: key, runId, lastSeq: lastEventSeq, summary: summaryOf(record) });
    }
    return sessions.sort((a, b) => b.mtime - a.mtime || (a.sessionId < b.sessionId ? -1 : 1));
  }

  async #runsOf(projectKey: string): Promise<Map<string, RunSummary>> {
    const labels = { [OWNER_LABEL]: ADAPTER, [PROJECT_LABEL]: keySegment(projectKey) };
    const runs = new Map<string, RunSummary>();
    let cursor: string | undefined;
    do {
      const page = await this.#store.runs.listRuns({ labels, limit: 1_000, ...(cursor !== undefined && { cursor }) });
      for (const run of page.items) runs.set(run.runId, run);
      cursor = page.next;
    } while (cursor !== undefined);
    return runs;
  }
}
