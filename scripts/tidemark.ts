/** `npm run tidemark -- runs list`: runs the command line from its sources. */
import '../packages/cli/src/cli.ts';
