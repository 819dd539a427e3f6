/** Output forms, escaped control characters, and lines cut to the width of the terminal. */
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
  const printed = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    isTerminal: settings.terminal === true,
    columns: settings.columns ?? 80,
    async write(chunk: string | Uint8Array) {
      printed[name] += chunk;
    },
  });
  const { signal } = new AbortController();
  const io = { stdout: sink('stdout'), stderr: sink('stderr'), env: settings.env ?? {}, signal } as unknown as Io;
  const output = (form?: OutputForm) => new Output(io, { form, times: 'relative' });
  return { printed, output };
}

describe('a list', () => {
  it('prints a table on a terminal', async () => {
    const { printed, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    await output().list(ROWS, PETS, 'none');
    expect(printed.stdout).toBe('NAME        MOOD    FED\ncat         failed  3h ago\na long dog  ok      in 1m\n');
  });

  it('prints JSON lines in a pipe', async () => {
    const { printed, output } = terminal();
    await output().list(ROWS, PETS, 'none');
    expect(printed.stdout).toBe(`${ROWS.map((row) => JSON.stringify(row)).join('\n')}\n`);
  });

  it('prints a JSON array or ids with --output', async () => {
    const json = terminal();
    await json.output('json').list(ROWS, PETS, 'none');
    expect(JSON.parse(json.printed.stdout)).toEqual(ROWS);
    const ids = terminal();
    await ids.output('id').list(ROWS, PETS, 'none');
    expect(ids.printed.stdout).toBe('cat\na long dog\n');
  });

  it('prints nothing or an empty array when there are no rows, and a note on stderr', async () => {
    for (const [form, expected] of [
      ['table', ''],
      ['jsonl', ''],
      ['id', ''],
      ['json', '[]\n'],
    ] as const) {
      const { printed, output } = terminal();
      await output(form).list([], PETS, 'There are no pets.');
      expect(printed, form).toEqual({ stdout: expected, stderr: 'There are no pets.\n' });
    }
  });

  it('cuts lines to the width of a terminal only', async () => {
    const row = { name: 'x'.repeat(50), mood: 'y'.repeat(50), fed: now };
    const narrow = terminal({ terminal: true, columns: 60, env: { NO_COLOR: '1' } });
    await narrow.output().list([row], PETS, 'none');
    for (const line of narrow.printed.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
    expect(narrow.printed.stdout).toContain('…');
    const piped = terminal({ columns: 60 });
    await piped.output('table').list([row], PETS, 'none');
    expect(piped.printed.stdout).toContain('y'.repeat(50));
  });

  it('shortens the widest columns of a terminal, so that every column is visible', async () => {
    const row = { name: 'n'.repeat(64), mood: 'm'.repeat(30), fed: now - 3 * 3_600_000 - 1 };
    for (const columns of [40, 60, 80]) {
      const { printed, output } = terminal({ terminal: true, columns, env: { NO_COLOR: '1' } });
      await output().list([row], PETS, 'none');
      const [head, line] = printed.stdout.split('\n');
      expect(head).toMatch(/^NAME +MOOD +FED$/);
      expect(line, String(columns)).toMatch(/^n{7,}… {2}m{7,}… {2}3h ago$/);
      expect(line!.length).toBeLessThanOrEqual(columns);
    }
  });

  it('escapes control characters', async () => {
    const { printed, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    await output().list([{ name: '\u001b[2Jgone\r\n\u202e', mood: 'ok', fed: now }], PETS, 'none');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looking for control characters is the test.
    expect(printed.stdout.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(printed.stdout).toContain('\\u001b[2Jgone');
  });

  it('aligns wide characters', async () => {
    const { printed, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    await output().list(
      [
        { name: '猫', mood: 'ok', fed: now },
        { name: 'cat', mood: 'ok', fed: now },
      ],
      PETS,
      'none',
    );
    expect(printed.stdout).toContain('猫    ok');
    expect(printed.stdout).toContain('cat   ok');
  });
});

describe('colours', () => {
  const coloured = async (settings: Parameters<typeof terminal>[0]) => {
    const { printed, output } = terminal(settings);
    await output('table').list(ROWS, PETS, 'none');
    return printed.stdout.includes('\u001b[31m');
  };

  it('are enabled only on a terminal', async () => {
    expect(await coloured({ terminal: true })).toBe(true);
    expect(await coloured({})).toBe(false);
  });

  it('are disabled by NO_COLOR and TERM=dumb, and enabled by FORCE_COLOR', async () => {
    expect(await coloured({ terminal: true, env: { NO_COLOR: '1' } })).toBe(false);
    expect(await coloured({ terminal: true, env: { NO_COLOR: '' } })).toBe(true);
    expect(await coloured({ terminal: true, env: { TERM: 'dumb' } })).toBe(false);
    expect(await coloured({ env: { FORCE_COLOR: '1' } })).toBe(true);
  });
});

describe('an endless list', () => {
  it('prints each row as it arrives, even in a table', async () => {
    const { printed, output } = terminal({ terminal: true, env: { NO_COLOR: '1' } });
    const seen: string[] = [];
    async function* rows() {
      for (const row of ROWS) {
        yield row;
        seen.push(printed.stdout);
      }
    }
    await output().follow(rows(), PETS);
    expect(seen[0]).toContain('cat');
    expect(seen[0]).not.toContain('dog');
    expect(printed.stdout.match(/NAME/g)).toHaveLength(1);
  });

  it('prints JSON lines, with and without --json', async () => {
    const { printed, output } = terminal();
    async function* rows() {
      yield* ROWS;
    }
    await output('json').follow(rows(), PETS);
    expect(
      printed.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(ROWS);
  });
});
