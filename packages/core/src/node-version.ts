/** Says in one sentence what is wrong on a Node that is too old, instead of failing later with a stack trace. */
const OLDEST = [22, 13] as const;

/** The sentence for a Node version, or `null` when it is new enough. Other runtimes have no Node version to check. */
export function nodeVersionProblem(version: string | undefined): string | null {
  if (version === undefined) return null;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null;
  return `Tidemark needs Node ${OLDEST.join('.')} or newer, and this is Node ${version}: install a newer Node and start again.`;
}

const problem = nodeVersionProblem(globalThis.process?.versions?.node);
if (problem !== null) throw new Error(problem);
