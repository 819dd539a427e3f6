/** Fails on import with a clear message if Node is too old, instead of failing later with a stack trace. */
const OLDEST = [22, 13] as const;

/** Returns the error message for a Node version, or `null` when it is new enough or the runtime is not Node. */
export function nodeVersionProblem(version: string | undefined): string | null {
  if (version === undefined) return null;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null;
  return `Tidemark needs Node ${OLDEST.join('.')} or newer, and this is Node ${version}: install a newer Node and start again.`;
}

const problem = nodeVersionProblem(globalThis.process?.versions?.node);
if (problem !== null) throw new Error(problem);
