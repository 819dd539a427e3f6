/** The API report: one page per published package with every exported name and its signature, so that reviews show each change of the API. */
import { basename } from 'node:path';
import { type Entry, publishedEntries } from './entries.ts';
import { type ExportedName, readSurface } from './surface.ts';

/** Returns the report pages by their path from the root. */
export function apiPages(root: string, entries: readonly Entry[] = publishedEntries(root)): Map<string, string> {
  const surface = readSurface(
    root,
    entries.map(({ file }) => file),
  );
  const packages = Map.groupBy(entries, ({ folder }) => folder);
  return new Map(
    [...packages].map(([folder, own]) => [
      `docs/api/${basename(folder)}.api.md`,
      `# API of \`${own[0]!.specifier}\`

Every exported name with its signature. This page is made from the code by \`npm run docs\`.

${own.map((entry) => renderEntry(entry, entries, surface)).join('\n')}`,
    ]),
  );
}

function renderEntry(entry: Entry, entries: readonly Entry[], surface: Map<string, ExportedName[]>): string {
  const names = surface.get(entry.file)!;
  const texts = names.map((it) => {
    const from = ownerOf(it, entries, surface) ?? entry;
    return from === entry
      ? it.declaration
      : `export { ${it.isType ? 'type ' : ''}${it.name} } from '${from.specifier}';`;
  });
  return `## \`${entry.specifier}\`: ${names.length} ${names.length === 1 ? 'name' : 'names'}

\`\`\`ts
${joinTexts(texts)}
\`\`\`
`;
}

/** Separates declarations with blank lines, but not re-exports and other single lines. */
function joinTexts(texts: readonly string[]): string {
  return texts
    .map((text, at) => {
      const before = texts[at - 1];
      const isApart = before !== undefined && (before.includes('\n') || text.includes('\n'));
      return isApart ? `\n${text}` : text;
    })
    .join('\n');
}

/** Returns the first entry of the declaring package that exports the name. Other entries refer to it instead of repeating the signature. */
function ownerOf(
  { name, file }: ExportedName,
  entries: readonly Entry[],
  surface: Map<string, ExportedName[]>,
): Entry | undefined {
  return entries.find(
    (entry) =>
      file.startsWith(`${entry.folder}/`) &&
      surface.get(entry.file)!.some((it) => it.name === name && it.file === file),
  );
}
