/**
 * Cases about time on a clock that the kit controls: records, leases and runs on NATS use the clock of their writer.
 */
import { ALL_CASES, isTimed, registerConformance, type StoreUnderTest } from '@tidemark/conformance';
import { afterAll, describe, it } from 'vitest';
import { natsStore } from '../src/index.ts';
import { newPrefix, removeStreams, sharedServer, WITHOUT_NATS } from './servers.ts';

async function onInjectedClock(): Promise<StoreUnderTest> {
  let now = Date.now();
  const [url, prefix] = [sharedServer(), newPrefix()];
  const options = { url, prefix, clock: () => now };
  return {
    store: await natsStore(options),
    peer: () => natsStore(options),
    advance: (ms) => {
      now += ms;
    },
    setBack: (ms) => {
      now -= ms;
    },
    dispose: () => removeStreams(url, prefix),
  };
}

describe.skipIf(WITHOUT_NATS)('On a controlled clock', () => {
  registerConformance({ describe, it, afterAll }, 'The store', onInjectedClock, { cases: ALL_CASES.filter(isTimed) });
});
