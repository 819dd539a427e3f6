/** `npm run check -- documents`: prints every path, link and rule that a page names and that does not exist. */
import { problemsOfDocuments } from './documents/repository.ts';
import { ROOT } from './processes.ts';

const problems = problemsOfDocuments(ROOT);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
