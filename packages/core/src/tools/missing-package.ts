/** Turns the failed import of an optional package into an error with the command that installs it. */
import { TidemarkError } from '../contracts/errors.ts';

/** The codes of Node's loaders for `import` and `require`; Bun and Deno use them too. */
const MISSING = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'];

/** Returns `DRIVER_MISSING` if exactly this package was not found; any other cause is returned unchanged. */
export function missingPackage(cause: unknown, name: string, neededBy: string): unknown {
  const { code } = cause as { code?: string };
  const isNamed = [`"${name}"`, `'${name}'`].some((quoted) => String(cause).includes(quoted));
  if (!MISSING.includes(code ?? '') || !isNamed) return cause;
  return new TidemarkError(
    'DRIVER_MISSING',
    `${neededBy} needs the package ${name}; install it with: npm install ${name}`,
    { cause },
  );
}
