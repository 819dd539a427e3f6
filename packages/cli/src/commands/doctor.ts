/** `doctor`: checks whether the store meets its guarantees, and suggests fixes. */
import {
  type DamagedValue,
  type DoctorFinding,
  type DoctorReport,
  damageFinding,
  unsummedFinding,
} from '@tidemark/core';
import { state } from '../cells.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { contextPath } from '../contexts.ts';
import { newCounts, resumeNote, WALK_OPTIONS, walkEverything } from '../deep-check.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { toggle } from '../options.ts';
import type { View } from '../output.ts';
import { openToOthers, privacyFix } from '../private-files.ts';

/** Maximum number of damaged values that a finding lists. */
const NAMED = 20;

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
  summary: 'Check the configuration and durability of the store',
  details:
    'Exits with code 6 if a check fails, or 8 if none fails but some cannot be completed. With --deep, reads all stored data and ' +
    'compares it with its hash chains and checksums. If interrupted, it prints the cursor for --resume.',
  effect: 'ro',
  options: { deep: toggle('read all stored data and list damaged values'), ...WALK_OPTIONS },
  examples: [
    { line: 'doctor', shows: '"status":"ok"' },
    { line: 'doctor --deep --rate 5000', shows: 'values match' },
  ],
  async run(context) {
    const { store, out } = context;
    const storage = context.options.deep;
    const bounds = storage ? context.longCall : {};
    const report = await (await store({ mustExist: true })).doctor({ ...bounds, storage });
    const findings = [...report.findings, ...secretFileFindings(context)];
    if (context.options.deep) {
      const deep = await examineDeeply(context);
      if (deep === null) return EXIT.interrupted;
      findings.push(...deep);
    }
    await out.list(findings, FINDINGS, 'No checks were run.');
    const { sentence, exit } = verdictOn({ ...report, findings });
    await out.note(`${report.backend}: ${sentence}`);
    return exit;
  },
});

/** Reads all stored data. Returns `null` when interrupted. */
async function examineDeeply(
  context: Parameters<typeof walkEverything>[0] & Pick<CommandContext<unknown, unknown>, 'out'>,
) {
  const counts = newCounts();
  const first: DamagedValue[] = [];
  for await (const damaged of walkEverything(context, counts)) if (first.length < NAMED) first.push(damaged);
  if (counts.next !== undefined) {
    await context.out.note(resumeNote(counts));
    return null;
  }
  return [damageFinding(counts, first), ...unsummedFinding(counts.unsummed)];
}

/** Returns the verdict, which is never success while a check is inconclusive. */
export function verdictOn({ durability, findings }: Pick<DoctorReport, 'durability' | 'findings'>): {
  sentence: string;
  exit: ExitCode;
} {
  const named = (status: DoctorFinding['status']) =>
    findings.filter((it) => it.status === status).map(({ check }) => check);
  const survives =
    durability === 'unknown'
      ? 'what an acknowledged write survives is unknown'
      : `an acknowledged write survives ${durability}`;
  const [failed, unknown, warned] = [named('fail'), named('unknown'), named('warn')];
  if (failed.length > 0) return { sentence: `${survives}; failed checks: ${failed.join(', ')}.`, exit: EXIT.unmet };
  if (unknown.length > 0 || durability === 'unknown') {
    const inconclusive = unknown.length > 0 ? unknown.join(', ') : 'durability';
    return { sentence: `${survives}; inconclusive checks: ${inconclusive}.`, exit: EXIT.unknown };
  }
  if (warned.length > 0) return { sentence: `${survives}; warnings: ${warned.join(', ')}.`, exit: EXIT.ok };
  return { sentence: `${survives}; no problems found.`, exit: EXIT.ok };
}

/** Reports configuration files with secrets that other users can read or write. */
function secretFileFindings({
  io,
  flags,
  settings,
}: Pick<CommandContext<unknown, unknown>, 'io' | 'flags' | 'settings'>) {
  const { TIDEMARK_TOKEN_FILE, TIDEMARK_ADMIN_KEY_FILE, TIDEMARK_STORE_FILE, TIDEMARK_CHECKPOINT_KEY_FILE } = io.env;
  const files = [contextPath(io.env), flags.storeFile, settings.tokenFile, TIDEMARK_STORE_FILE, TIDEMARK_TOKEN_FILE];
  const open = openToOthers([...files, TIDEMARK_ADMIN_KEY_FILE, TIDEMARK_CHECKPOINT_KEY_FILE]);
  const finding: DoctorFinding = {
    check: 'files with secrets',
    status: 'warn',
    message: `other users of this machine may read or write ${open.join(', ')}`,
    fix: privacyFix(open),
  };
  return open.length > 0 ? [finding] : [];
}

export const doctorCommands = [doctor];
