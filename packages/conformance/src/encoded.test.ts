/** The kit on the memory store with compression and encryption. */
import { randomBytes } from 'node:crypto';
import { composeCodecs, compression, encryption } from '@tidemark/core';
import { afterAll, describe, it } from 'vitest';
import { healthy } from './broken/wrap.ts';
import { registerConformance } from './register.ts';

const codec = composeCodecs(compression({ above: 64 }), encryption({ keys: { kit: randomBytes(32) }, current: 'kit' }));

registerConformance({ describe, it, afterAll }, 'The memory store, compressed and encrypted', () => healthy({ codec }));
