/** The words check refuses every phrase on its list, only in comments and pages, and reports the right line. */
import { describe, expect, it } from 'vitest';
import { worseThanLinear } from '../patterns/growth.ts';
import { commentPassages } from './comments.ts';
import { offencesIn } from './offences.ts';
import { PHRASES } from './phrases.ts';

const inComment = (sentence: string) => offencesIn('a.ts', `/** ${sentence} */\nconst a = 1;\n`);
const textsOf = (path: string, source: string) => commentPassages(path, source).map(({ text }) => text);

describe('titles', () => {
  it.each([
    "it('is told nothing', () => {});",
    "describe.each(all)('a server that is told %s', f);",
    "test.skipIf(a).each`x`('is told nothing', f);",
    "const a = { id: 'x', title: 'is told nothing' };",
  ])('of %s are read', (source) => {
    expect(offencesIn('a.test.ts', `\n${source}\n`)).toMatchObject([{ line: 2 }]);
  });

  it.each(["log('is told nothing');", "const a = { name: 'is told nothing' };", "it(title, () => log('is told'));"])(
    'are not other texts: %s',
    (source) => expect(offencesIn('a.test.ts', source)).toEqual([]),
  );
});

describe('phrases', () => {
  it.each([
    ['The doctor mends the index.'],
    ['Later calls hear RUN_ARCHIVED.'],
    ['Waits until the store has had its say.'],
    ['Ignores limits that are none.'],
    ['Refuses a header that is no JSON.'],
    ['Old references give way to new ones.'],
    ['The caller is told `NOT_FOUND`.'],
    ['The same call sent again changes nothing.'],
    ['Pause tokens are handed out once.'],
    ['Run by whoever holds the lease.'],
    ['What is known of a blob.'],
    ['Reads the log. What is new is stored.'],
    ['One that is claimed is skipped.'],
    ['Gives the next page.'],
    ['Removes all events; gives how many there were.'],
    ['Makes jobs ready whose time has come.'],
    ['Lists jobs that ended badly.'],
    ['Reads the head anew.'],
    ['The run was removed meanwhile.'],
    ['Another commit came between.'],
    ['Nobody else holds the lock.'],
    ['A server that was seen to stop.'],
    ['Changes a file behind the store’s back.'],
    ['Refuses a made-up cursor.'],
    ['Strangers cannot read it.'],
    ['The write was carried out.'],
    ['Kept for an hour unless `ttl` says otherwise.'],
    ['Repeats the step before.'],
    ['Two tenants never meet.'],
  ])('are refused: %s', (sentence) => {
    expect(inComment(sentence)).toHaveLength(1);
  });

  it.each([
    ['Returns `null` where there is none.'],
    ['The snapshot is no longer current.'],
    ['Two runs cannot be told apart.'],
    ['Follows the rule of `mends`, an identifier.'],
    ['What happens when two writers race? One of them fails.'],
    ['Returns whether that run exists.'],
    ['Recommends a setting and appends an event.'],
    ['Compares the event before it is stored.'],
    ['The value is between 1 and 10.'],
  ])('pass: %s', (sentence) => {
    expect(inComment(sentence)).toEqual([]);
  });

  it('take linear time', () => {
    expect(PHRASES.filter(({ pattern }) => worseThanLinear(pattern)).map(({ pattern }) => pattern.source)).toEqual([]);
  });
});

describe('places', () => {
  it('include a phrase that is split between two lines of a comment, reported at its first line', () => {
    const [offence] = offencesIn(
      'a.ts',
      'const a = 1;\n/**\n * Ignores limits that\n * are none.\n */\nconst b = 2;\n',
    );
    expect(offence).toMatchObject({ path: 'a.ts', line: 3 });
  });

  it('include consecutive line comments, read as one passage', () => {
    expect(offencesIn('a.ts', 'f(\n  // The caller is\n  // told.\n);\n')).toMatchObject([{ line: 2 }]);
  });

  it('exclude strings, templates, regular expressions and JSX text', () => {
    const template = '`/* $' + '{`mend`} */`';
    const source = `const a = ['// mend', ${template}, /\\/\\/ mend/];\nconst b = <p>// don't mend</p>;\n`;
    expect(offencesIn('a.tsx', source)).toEqual([]);
  });

  it('include pages, except for fenced blocks and code between backticks', () => {
    const page = '# A page\n\nThe doctor\nmends it.\n\n```ts\n// mend\n```\n\n- `mend` is a command\n';
    expect(offencesIn('a.md', page)).toMatchObject([{ line: 4 }]);
  });
});

describe('comments', () => {
  it.each([
    ['a.ts', "const a = '/* no */'; // one\n\n/* two */", ['one', 'two']],
    ['a.tsx', 'const a = <p>{/* one */}</p>;', ['one']],
    ['a.py', 'a = "# no"  # one\n\ndef f():\n    """Two\n    lines."""\n    b = """no"""\n', ['one', 'Two lines.']],
    ['a.lua', "local a = '-- no' -- one\n--[[ two\nlines ]]\n", ['one', 'two lines']],
    ['a.sql', "SELECT '-- it''s no'; -- one\n/* two */\n", ['one', 'two']],
    ['a.css', 'a { content: "/* no */"; /* one */ }', ['one']],
  ])('are found in %s', (path, source, texts) => {
    expect(textsOf(path, source)).toEqual(texts);
  });

  it('keep their line numbers after code that spans lines', () => {
    const [passage] = commentPassages('a.ts', '/**\n * See `a\n * b` and\n * more.\n */');
    expect(passage?.text).toBe('See `…` and more.');
    expect(passage?.lines.map(({ line }) => line)).toEqual([2, 3, 4]);
  });
});
