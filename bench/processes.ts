/** The CPU that a server has used, from `/proc`. Works only on Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts in these units on every common machine (`getconf CLK_TCK`). */
const TICK_US = 10_000;

interface Stat {
  parent: number;
  ticks: number;
}

/**
 * Returns the parent and the CPU ticks of a process, including the ticks of its ended children. Returns `null` if it is
 * gone.
 */
function statOf(pid: string): Stat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name, in parentheses, may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
  return { parent: Number(fields[1]), ticks };
}

/** Returns the microseconds of CPU that a process and its descendants have used so far. */
export function cpuOfProcesses(root: number): number {
  const stats = new Map<number, Stat>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(name) : null;
    if (stat) stats.set(Number(name), stat);
  }
  const belongs = (pid: number): boolean => pid === root || (stats.has(pid) && belongs(stats.get(pid)!.parent));
  let ticks = 0;
  for (const [pid, stat] of stats) if (belongs(pid)) ticks += stat.ticks;
  return ticks * TICK_US;
}
