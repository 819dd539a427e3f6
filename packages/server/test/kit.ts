/** Registers the conformance kit for the client, with its own server on a store of any engine. */

import { httpStore } from '@tidemark/client';
import {
  ALL_CASES,
  type ConformanceCase,
  registerConformance,
  type StoreUnderTest,
  sharesStore,
} from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import { afterAll, describe, it } from 'vitest';
import { createServer } from '../src/index.ts';

/** Fewer than by default: each engine's own tests run more. */
const MODEL_RUNS = 10;
/** Client, server and engine share this process with many concurrent cases. */
const TIMEOUT_MS = 60_000;
const CASE_LIMIT_MS = 150_000;

/** Data that can be opened, and is removed after the kit. */
export interface Backing {
  open(): Promise<Store>;
  remove(): void | Promise<void>;
}

function connect(url: string): Promise<Store> {
  return httpStore({ url, timeoutMs: TIMEOUT_MS });
}

/** Opens a client on a new server. Closing the client closes both. */
async function openThrough(backing: Backing): Promise<{ client: Store; url: string; stop: () => Promise<void> }> {
  const store = await backing.open();
  const server = createServer({ store });
  const url = await server.listen();
  const stop = async () => {
    await server.close();
    await store.close();
  };
  return { client: await connect(url), url, stop };
}

async function openUnderTest(backing: Backing): Promise<StoreUnderTest> {
  let opened = await openThrough(backing);
  const under: StoreUnderTest = {
    store: opened.client,
    peer: () => connect(opened.url),
    reopen: async () => {
      await opened.client.close();
      await opened.stop();
      opened = await openThrough(backing);
      return opened.client;
    },
    dispose: async () => {
      await opened.stop();
      await backing.remove();
    },
  };
  return under;
}

/** Cases that check a value shortly before it expires: beside other cases a call may be too slow for that. */
const TIMED = /ttl|expir|millisecond|lease|index-follows-kv/;

export function registerKit(title: string, newBacking: () => Promise<Backing>): void {
  describe(title, () => {
    const open = async () => openUnderTest(await newBacking());
    const register = (name: string, cases: readonly ConformanceCase[], test: typeof it) =>
      registerConformance({ describe, it: test, afterAll }, name, open, {
        cases,
        modelRuns: MODEL_RUNS,
        caseLimitMs: CASE_LIMIT_MS,
      });
    const sharesServer = (testCase: ConformanceCase) => sharesStore(testCase) && !TIMED.test(testCase.id);
    register('The client, in many calls at once,', ALL_CASES.filter(sharesServer), it.concurrent as typeof it);
    register(
      'The client',
      ALL_CASES.filter((testCase) => !sharesServer(testCase)),
      it,
    );
  });
}
