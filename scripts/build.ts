/** `npm run build`: compiles every package to its `dist` folder. */

import { runVisibly, toolPath } from './processes.ts';

process.exitCode = await runVisibly(process.execPath, [toolPath('typescript', 'tsc'), '-b', ...process.argv.slice(2)]);
