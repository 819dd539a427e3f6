/** Commands are the same bytes whichever way their arguments were added. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Argument, bytesAsText, Encoded, encodeText } from './encode.ts';

const anyArgument: fc.Arbitrary<Argument> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
  // Alone, half of a pair has no bytes of its own.
  fc.constantFrom('\ud800', 'a\udc00b', '', 'x'.repeat(600)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.integer({ min: 4_090, max: 4_100 }).map((length) => Buffer.alloc(length, 0xe9)),
);
const anyCommands = fc.array(fc.array(anyArgument, { minLength: 1, maxLength: 6 }), { maxLength: 5 });

function written(commands: Encoded): Buffer {
  const pieces: Buffer[] = [];
  commands.write((piece) => pieces.push(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece));
  return Buffer.concat(pieces);
}

function expected(commands: readonly (readonly Argument[])[]): Buffer {
  const parts = commands.flatMap((args) => [
    Buffer.from(`*${args.length}\r\n`),
    ...args.flatMap((arg) => [Buffer.from(`$${Buffer.byteLength(arg)}\r\n`), Buffer.from(arg), Buffer.from('\r\n')]),
  ]);
  return Buffer.concat(parts);
}

function addOne(command: Encoded, argument: Argument, way: number): void {
  if (way === 0 || typeof argument !== 'string') command.add(argument);
  else if (way === 1) command.addReady(encodeText(argument));
  else if (way === 2) command.addBytes(bytesAsText(argument));
  else command.append(new Encoded().add(argument));
}

it('encodes the bytes of every argument', () => {
  fc.assert(
    fc.property(anyCommands, fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }), (commands, ways) => {
      const out = new Encoded();
      for (const args of commands) {
        const command = new Encoded();
        for (const [at, argument] of args.entries()) addOne(command, argument, ways[at % ways.length]!);
        expect(command.count).toBe(args.length);
        command.endCommand(out);
      }
      expect(out.count).toBe(commands.length);
      expect(written(out).equals(expected(commands))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

it('leaves a list as it is when the list is appended to others', () => {
  const shared = new Encoded().add(Buffer.alloc(5_000, 1)).add('x');
  const before = [shared.count, written(shared)];
  const both = new Encoded().add('a').append(shared).append(shared);
  expect(both.count).toBe(5);
  expect([shared.count, written(shared)]).toEqual(before);
});
