/**
 * `npm run check -- commits`: prints the commits since the base whose subject does not have the required form. Passes
 * if git does not have the base commit.
 */
import { BASE, parseCommits, subjectProblems } from './commits/subjects.ts';
import { runQuietly } from './processes.ts';

const { code } = await runQuietly('git', ['cat-file', '-e', `${BASE}^{commit}`]);
if (code !== 0) {
  console.log(`Commit subjects were not checked: this checkout has no git history back to ${BASE}.`);
} else {
  const { output } = await runQuietly('git', ['log', '--no-merges', '--format=%h %s', `${BASE}..HEAD`]);
  const problems = parseCommits(output).flatMap(subjectProblems);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
