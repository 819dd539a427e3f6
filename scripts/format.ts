/** `npm run format`: formats the repository and applies the linter's safe fixes. */

import { runVisibly, toolPath } from './processes.ts';

const paths = process.argv.slice(2);
process.exitCode = await runVisibly(process.execPath, [
  toolPath('@biomejs/biome', 'biome'),
  'check',
  '--write',
  ...(paths.length > 0 ? paths : ['.']),
]);
