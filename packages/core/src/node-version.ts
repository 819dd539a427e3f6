/**
 * Fails on import with a clear message if this Node lacks what we use of `node:sqlite`, instead of failing later with a
 * stack trace. 22.13 and 23.5 have functions in SQL, and `node:sqlite` without a flag.
 */
const SUPPORTED = 'Node 22.13 or newer, but not 23.0 to 23.4';

/** Returns the error message for a Node version, or `null` when it is supported or the runtime is not Node. */
export function nodeVersionProblem(version: string | undefined): string | null {
  if (version === undefined) return null;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 23 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13)) return null;
  return `Tidemark needs ${SUPPORTED}, and this is Node ${version}: install a newer Node and start again.`;
}

const problem = nodeVersionProblem(globalThis.process?.versions?.node);
if (problem !== null) throw new Error(problem);
