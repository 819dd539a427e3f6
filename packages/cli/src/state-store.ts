/** `--state-store ./stores.js#create`: loads the user's own store, which needs only the three required methods. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidArgument, type StoredEvent, TidemarkError } from '@tidemark/core';

/** The part of a store that `history` and `replay` use. */
export interface HistorySource {
  loadHistory(traceId: string): Promise<StoredEvent[]>;
  close(): Promise<void>;
}

type Loaded = Record<PropertyKey, unknown>;

/** The accepted names of each required method. */
const REQUIRED = [
  ['saveEvent', 'save_event'],
  ['loadHistory', 'load_history'],
  ['saveRemoteBinding', 'save_remote_binding'],
] as const;

export async function loadStateStore(given: string): Promise<HistorySource> {
  const { specifier, name } = splitName(given);
  const factory = (await importModule(specifier))[name];
  if (typeof factory !== 'function')
    throw invalidArgument('--state-store', `a module and the name of a function it exports`, given);
  const made = (await factory()) as Loaded | null;
  const store = findMethods(made);
  const missing = REQUIRED.filter((names) => !names.some((it) => typeof store?.[it] === 'function'));
  if (missing.length > 0) {
    const named = missing.map(([camel, snake]) => `${camel} (or ${snake})`).join(', ');
    throw new TidemarkError('INVALID_ARGUMENT', `The store that ${given} makes lacks ${named}`, {
      field: '--state-store',
      rule: 'a store with saveEvent, loadHistory and saveRemoteBinding',
    });
  }
  return {
    async loadHistory(traceId) {
      const load = (store!.loadHistory ?? store!.load_history) as (id: string) => Promise<Iterable<Loaded>>;
      return [...(await load.call(store, traceId))].map(storedEvent);
    },
    async close() {
      if (typeof made!.close === 'function') await made!.close();
      else if (typeof made![Symbol.asyncDispose] === 'function')
        await (made as unknown as AsyncDisposable)[Symbol.asyncDispose]();
    },
  };
}

/** Parses `./file.js#create`, `./file.js:create` or `package:create`. Without a name, the default export is used. */
function splitName(given: string): { specifier: string; name: string } {
  const [, specifier, name] = /^(.+?)(?:#|:)([A-Za-z_$][\w$]*)$/.exec(given) ?? [];
  return specifier === undefined ? { specifier: given, name: 'default' } : { specifier, name: name! };
}

async function importModule(specifier: string): Promise<Record<string, unknown>> {
  const isPath = /^\.{0,2}\//.test(specifier) || existsSync(specifier);
  try {
    return await import(isPath ? pathToFileURL(resolve(specifier)).href : specifier);
  } catch (cause) {
    throw new TidemarkError('INVALID_ARGUMENT', `${specifier} cannot be loaded: ${(cause as Error).message}`, {
      field: '--state-store',
      cause,
    });
  }
}

/** Returns the object that has the methods. In a Tidemark store this is `agents`. */
function findMethods(made: Loaded | null): Loaded | null {
  const agents = made?.agents;
  return typeof agents === 'object' && agents !== null ? (agents as Loaded) : made;
}

function storedEvent(event: Loaded): StoredEvent {
  const field = (camel: string, snake: string) => event[camel] ?? event[snake] ?? null;
  return {
    traceId: field('traceId', 'trace_id') as string | null,
    ts: event.ts as number,
    kind: event.kind as string,
    nodeName: field('nodeName', 'node_name') as string | null,
    nodeId: field('nodeId', 'node_id') as string | null,
    payload: (event.payload ?? {}) as StoredEvent['payload'],
  };
}
