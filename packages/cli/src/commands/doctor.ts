/** `doctor`: whether the store keeps what it promises, and what to do where it does not. */
import type { DoctorFinding } from '@tidemark/core';
import { state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import type { View } from '../output.ts';

const FINDINGS: View<DoctorFinding> = {
  columns: [
    { title: 'CHECK', of: ({ check }) => check },
    { title: 'STATUS', of: ({ status }) => state(status) },
    { title: 'FOUND', of: ({ message }) => message },
    { title: 'DO', of: ({ fix }) => fix },
  ],
  id: ({ check }) => check,
};

const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check whether the store keeps what it promises',
  details: 'Exit code 6 when something is wrong.',
  effect: 'ro',
  examples: [{ line: 'doctor', shows: '"status":"ok"' }],
  async run({ store, out }) {
    const { backend, durability, ok, findings } = await (await store({ mustExist: true })).doctor();
    await out.list(findings, FINDINGS, 'Nothing was looked at.');
    await out.note(
      `${backend}: an acknowledged write survives ${durability}; ${ok ? 'all is well' : 'not all is well'}.`,
    );
    return ok ? EXIT.ok : EXIT.unmet;
  },
});

export const doctorCommands = [doctor];
