/** What is printed: the form that was asked for, nothing that steers a terminal, and lines that fit it. */
import { describe, expect, it } from 'vitest';
import { at, state } from './cells.ts';
import type { Io } from './io.ts';
import { Output, type OutputForm, type View } from './output.ts';

interface Pet {
  name: string;
  mood: string;
  fed: number;
}

const PETS: View<Pet> = {
  columns: [
    { title: 'NAME', of: ({ name }) => name },
    { title: 'MOOD', of: ({ mood }) => state(mood) },
    { title: 'FED', of: ({ fed }) => at(fed) },
  ],
  id: ({ name }) => name,
};
const now = Date.now();
const ROWS: Pet[] = [
  { name: 'cat', mood: 'failed', fed: now - 3 * 3_600_000 - 1 },
  { name: 'a long dog', mood: 'ok', fed: now + 90_500 },
];

function terminal(settings: { terminal?: boolean; columns?: number; env?: Record<string, string> } = {}) {
  const said = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    isTerminal: settings.terminal === true,
    columns: settings.columns ?? 80,
    async write(chunk: string | Uint8Array) {
      said[name] += chunk;
    },
  });
  const { signal } = new AbortController();
  const io = { stdout: sink('stdout'), stderr: sink('stderr'), env: settings.env ?? {}, signal } as unknown as Io;
  const output = (form?: OutputForm) => new Output(io, { form, times: 'relative' });
  return { said, output };
}

describe('a list', () => {
  it('is a table on a terminal, in columns', async () => {
    const { said, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    await output().list(ROWS, PETS, 'none');
    expect(said.stdout).toBe('NAME        MOOD    FED\ncat         failed  3h ago\na long dog  ok      in 1m\n');
  });

  it('is JSON lines elsewhere', async () => {
    const { said, output } = terminal();
    await output().list(ROWS, PETS, 'none');
    expect(said.stdout).toBe(`${ROWS.map((row) => JSON.stringify(row)).join('\n')}\n`);
  });

  it('is one JSON array, or ids, when asked for', async () => {
    const json = terminal();
    await json.output('json').list(ROWS, PETS, 'none');
    expect(JSON.parse(json.said.stdout)).toEqual(ROWS);
    const ids = terminal();
    await ids.output('id').list(ROWS, PETS, 'none');
    expect(ids.said.stdout).toBe('cat\na long dog\n');
  });

  it('that is empty prints nothing on stdout, or an empty array, and says so on stderr', async () => {
    for (const [form, printed] of [
      ['table', ''],
      ['jsonl', ''],
      ['id', ''],
      ['json', '[]\n'],
    ] as const) {
      const { said, output } = terminal();
      await output(form).list([], PETS, 'There are no pets.');
      expect(said, form).toEqual({ stdout: printed, stderr: 'There are no pets.\n' });
    }
  });

  it('is cut to the width of the terminal, and never elsewhere', async () => {
    const row = { name: 'x'.repeat(50), mood: 'y'.repeat(50), fed: now };
    const narrow = terminal({ terminal: true, columns: 60, env: { NO_COLOR: '1' } });
    await narrow.output().list([row], PETS, 'none');
    for (const line of narrow.said.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
    expect(narrow.said.stdout).toContain('…');
    const piped = terminal({ columns: 60 });
    await piped.output('table').list([row], PETS, 'none');
    expect(piped.said.stdout).toContain('y'.repeat(50));
  });

  it('shows control characters instead of sending them to the terminal', async () => {
    const { said, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    await output().list([{ name: '\u001b[2Jgone\r\n\u202e', mood: 'ok', fed: now }], PETS, 'none');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looking for control characters is the test.
    expect(said.stdout.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(said.stdout).toContain('\\u001b[2Jgone');
  });

  it('lines up wide characters', async () => {
    const { said, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    await output().list(
      [
        { name: '猫', mood: 'ok', fed: now },
        { name: 'cat', mood: 'ok', fed: now },
      ],
      PETS,
      'none',
    );
    expect(said.stdout).toContain('猫    ok');
    expect(said.stdout).toContain('cat   ok');
  });
});

describe('colours', () => {
  const coloured = async (settings: Parameters<typeof terminal>[0]) => {
    const { said, output } = terminal(settings);
    await output('table').list(ROWS, PETS, 'none');
    return said.stdout.includes('\u001b[31m');
  };

  it('are on on a terminal and off elsewhere', async () => {
    expect(await coloured({ terminal: true })).toBe(true);
    expect(await coloured({})).toBe(false);
  });

  it('are off with NO_COLOR and TERM=dumb, on with FORCE_COLOR', async () => {
    expect(await coloured({ terminal: true, env: { NO_COLOR: '1' } })).toBe(false);
    expect(await coloured({ terminal: true, env: { NO_COLOR: '' } })).toBe(true);
    expect(await coloured({ terminal: true, env: { TERM: 'dumb' } })).toBe(false);
    expect(await coloured({ env: { FORCE_COLOR: '1' } })).toBe(true);
  });
});

describe('a list without an end', () => {
  it('prints each row as it comes, also as a table', async () => {
    const { said, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    const seen: string[] = [];
    async function* rows() {
      for (const row of ROWS) {
        yield row;
        seen.push(said.stdout);
      }
    }
    await output().follow(rows(), PETS);
    expect(seen[0]).toContain('cat');
    expect(seen[0]).not.toContain('dog');
    expect(said.stdout.match(/NAME/g)).toHaveLength(1);
  });

  it('is JSON lines, also where --json was asked for', async () => {
    const { said, output } = terminal();
    async function* rows() {
      yield* ROWS;
    }
    await output('json').follow(rows(), PETS);
    expect(
      said.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(ROWS);
  });
});
