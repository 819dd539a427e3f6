/** Every statement of a sink, parsed as Snowflake's dialect by a parser that is not ours. */
import { expect, test } from 'vitest';
import { currentVersion, MIGRATIONS, recordVersion, versionTable } from '../src/schema/migrations.ts';
import { viewStatements } from '../src/schema/views.ts';
import {
  clearInbox,
  copyPage,
  highestVersion,
  mergeInbox,
  mergePage,
  noteRemovals,
  purge,
  redact,
} from '../src/statements.ts';
import { kindsOf } from './parsing.ts';

const PLACE = 'ANALYTICS.TIDEMARK';
const TIMES = { fromMs: 0, toMs: 1 };

/** The parser accepts statements that it does not know as these. */
const UNKNOWN = new Set(['raw', 'command']);

const STATEMENTS = [
  versionTable(PLACE),
  currentVersion(PLACE),
  recordVersion(PLACE, 1),
  highestVersion(PLACE),
  ...MIGRATIONS.flatMap(({ statements }) => statements(PLACE)),
  ...viewStatements(PLACE),
  ...[
    mergePage(PLACE, '[]', TIMES),
    copyPage(PLACE, `${PLACE}.PAGES`, 'page-1.jsonl'),
    mergeInbox(PLACE, 'page-1.jsonl', TIMES),
    clearInbox(PLACE, 'page-1.jsonl'),
    noteRemovals(PLACE, '[]'),
    redact(PLACE, '[]'),
    ...purge(PLACE),
  ].map(({ text }) => text),
];

test.each(STATEMENTS.map((text) => [text.slice(0, 60).split('\n')[0], text]))('%s … is Snowflake SQL', (_, text) => {
  const kinds = kindsOf(text!);
  expect(kinds).toHaveLength(1);
  expect(UNKNOWN, 'understood by the parser').not.toContain(kinds[0]);
});

test.each(['MERGE INTO A USING B ON A.X = B.X WHEN MATCHD THEN DELETE', 'SELECT FROM WHERE'])(
  'the parser refuses %s',
  (text) => {
    expect(() => kindsOf(text)).toThrow(/Parse error/);
  },
);

test('the parser reports statements that it does not know', () => {
  expect(UNKNOWN).toContain(kindsOf('CREATE TABEL X (A INT)')[0]);
});
