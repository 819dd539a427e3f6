/** Secrets are found by their shape anywhere in a string, and the search takes linear time. */
import { describe, expect, it } from 'vitest';
import { redactMember, redactText } from './redaction.ts';

const KEY = `tmk_${'0123456789abcdef'}.${'S'.repeat(43)}`;
const TOKEN = `eyJhbGciOiJSUzI1NiJ9.${'A'.repeat(40)}.${'B'.repeat(40)}`;

describe('secrets in texts', () => {
  it.each([
    ['a key', `the key ${KEY} is wrong`, 'the key [redacted] is wrong'],
    ['a key in a path', `runs/${KEY}/events`, 'runs/[redacted]/events'],
    ['a key after a dash', `x-${KEY}`, 'x-[redacted]'],
    ['two keys', `${KEY}.${KEY}`, '[redacted].[redacted]'],
    ['a token', `"${TOKEN}"`, '"[redacted]"'],
    ['a token of five parts', `${TOKEN}.c.d`, '[redacted]'],
    ['a token that was cut', TOKEN.slice(0, 50), '[redacted]'],
    ['a header', 'Authorization: Bearer abc.def, x', 'Authorization: Bearer [redacted], x'],
    ['a password', 'at postgres://ada:hunter2@db/x', 'at postgres://***@db/x'],
    ['a password with a slash', 'postgres://ada:hun/ter2@db/x', 'postgres://***@db/x'],
    ['a scheme in capitals', 'POSTGRES://ada:hunter2@db', 'POSTGRES://***@db'],
    ['a second host', 'redis://a,redis://x:hunter2@b', 'redis://***@b'],
    ['a token as user', 'nats://hunter2@host', 'nats://***@host'],
    ['a password in the query', 'postgres://db/x?user=a&password=hunter2&y=1', 'postgres://db/x?***'],
    ['a password behind a login', 'postgres://a:b@db/x?sslpassword=c', 'postgres://***@db/x?***'],
  ])('are removed: %s', (_, text, shown) => {
    expect(redactText(text)).toBe(shown);
  });

  it.each([
    'run-1 must be an integer of at least 0',
    'see https://example.com/a/b and file.name-x.txt',
    'tmk_0123456789abcdef is the id of a key',
    'eyJ alone',
  ])('are not found in other text: %s', (text) => {
    expect(redactText(text)).toBe(text);
  });

  it('are not exposed by cutting a string in the middle of one', () => {
    const shown = redactText(`${'word '.repeat(3_273)}postgres://ada:hunter2${'x'.repeat(500)}@db`);
    expect(shown).not.toContain('hunter2');
    expect(shown.length).toBeLessThan(17_000);
    expect(redactText(`${'x'.repeat(16_380)}${KEY}`)).not.toContain('SS');
  });

  it('are removed from members by name', () => {
    expect(redactMember('password', 'x')).toBe('[redacted]');
    expect(redactMember('text', KEY)).toBe('[redacted]');
  });
});

describe('texts crafted to slow down the redaction', () => {
  it.each(['eyJ-', 'eyJ', '-eyJ.', 'tmk_', 'tmk_0123456789abcdef', 'a://a', '://@', '?token=', 'Bearer ', '@:', '.-'])(
    'take linear time: %s',
    (pump) => {
      const timeOf = (length: number) => {
        const text = pump.repeat(length / pump.length);
        const times = Array.from({ length: 5 }, () => {
          const started = performance.now();
          redactText(text);
          return performance.now() - started;
        });
        return Math.min(...times);
      };
      const [short, long] = [timeOf(4_000), timeOf(16_000)];
      expect(long < 1 || long < 8 * short, `${short} ms, then ${long} ms`).toBe(true);
    },
  );
});
