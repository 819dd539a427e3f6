/**
 * Fails on import with a clear message if this Node has no `node:sqlite` without a flag, instead of failing later with a
 * stack trace. The flag went away in 22.13 and 23.4.
 */
const SUPPORTED = 'Node 22.13 or newer, but not 23.0 to 23.3';

/** Returns the error message for a Node version, or `null` when it is supported or the runtime is not Node. */
export function nodeVersionProblem(version: string | undefined): string | null {
  if (version === undefined) return null;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 23 || (major === 23 && minor >= 4) || (major === 22 && minor >= 13)) return null;
  return `Tidemark needs ${SUPPORTED}, and this is Node ${version}: install a newer Node and start again.`;
}

const problem = nodeVersionProblem(globalThis.process?.versions?.node);
if (problem !== null) throw new Error(problem);
