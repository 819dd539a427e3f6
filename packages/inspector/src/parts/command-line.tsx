/** The command line that does the same as a button, to be pasted into a terminal. */
import { CopyButton } from './copy.tsx';

/** In single quotes, where the shell takes everything as it stands. */
export function quoted(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A call of the command line on the store of this page. */
export function tidemarkLine(
  command: string,
  ids: readonly string[],
  tenantId: string | undefined,
  options: Readonly<Record<string, string>> = {},
): string {
  const all = { ...options, ...(tenantId !== undefined && { tenant: tenantId }), store: location.origin };
  const named = Object.entries(all).map(([name, value]) => (value === '' ? `--${name}` : `--${name} ${quoted(value)}`));
  // After two dashes nothing is taken for an option, whatever an id begins with.
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
