/** `npm run tidemark -- runs list`: the command line, from its sources. */
import '../packages/cli/src/cli.ts';
