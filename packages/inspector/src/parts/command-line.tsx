/** The command line that does the same as a button, to paste into a terminal. */
import { CopyButton } from './copy.tsx';

/** Quotes a string for the shell if necessary. */
export function quoted(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a `tidemark` command line for the store of this page. */
export function tidemarkLine(
  command: string,
  ids: readonly string[],
  tenantId: string | undefined,
  options: Readonly<Record<string, string>> = {},
): string {
  const all = { ...options, ...(tenantId !== undefined && { tenant: tenantId }), store: location.origin };
  const named = Object.entries(all).map(([name, value]) => (value === '' ? `--${name}` : `--${name} ${quoted(value)}`));
  // Ids that start with a dash follow `--`, so that they are not parsed as options.
  const isPlain = ids.every((id) => !id.startsWith('-'));
  const words = ids.map(quoted);
  return ['tidemark', command, ...(isPlain ? [...words, ...named] : [...named, '--', ...words])].join(' ');
}

export function CommandLine({ line }: { line: string }) {
  return (
    <span class="command-line">
      <code>{line}</code>
      <CopyButton text={line} what="command line" />
    </span>
  );
}
