/** Cursors of job lists: forged ones are rejected before they reach the engine. */
import { expect, it } from 'vitest';
import { encodeCursor } from '../checks/json.ts';
import { memoryStore } from '../memory/store.ts';

const FROM = 'completed/mail/';

it.each([
  ['an index key of another state', ['failed/mail/000000000000001', 'k']],
  ['an index key of another type', ['completed/post/000000000000001', 'k']],
  ['the first index key after the list', ['completed/mail0', 'k']],
  ['an index key before the list', ['completed/mail', 'k']],
  ['no key', [FROM]],
  ['a third value', [FROM, 'k', 'x']],
  ['a number as its index key', [1, 'k']],
  ['a number as its key', [FROM, 1]],
])('rejects a cursor with %s', async (_, values) => {
  const { jobs } = memoryStore();
  const options = { taskType: 'mail', cursor: encodeCursor(values as unknown[]) };
  await expect(jobs.list('completed', options)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    field: 'cursor',
  });
});

it('accepts the first index key of the list', async () => {
  const { jobs } = memoryStore();
  expect(await jobs.list('completed', { taskType: 'mail', cursor: encodeCursor([FROM, 'k']) })).toEqual({ items: [] });
});
