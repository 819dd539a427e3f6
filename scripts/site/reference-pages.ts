/** The pages of the API reference, as Markdown. */
import { type ReferenceEntry, readReference } from './reference.ts';

/** Returns a page per module, by path. */
export function referencePages(root: string): Map<string, string> {
  const modules = Map.groupBy(readReference(root), ({ specifier }) => specifier);
  return new Map(
    [...modules].map(([specifier, entries]) => [
      `docs/reference/${specifier.replace('@tidemark/', '').replaceAll('/', '-')}.md`,
      `# ${specifier}\n\nEvery name that \`${specifier}\` exports.\n\n${entries.map(renderEntry).join('\n')}`,
    ]),
  );
}

function renderEntry({ name, specifier, isType, declaration, comment, throws, examples }: ReferenceEntry): string {
  const parts = [
    `## ${name}`,
    comment,
    ...(throws.length === 0 ? [] : [`**Throws** ${throws.join(' ')}`]),
    `\`\`\`ts\nimport { ${isType ? 'type ' : ''}${name} } from '${specifier}';\n\n${declaration}\n\`\`\``,
    ...examples.map(({ title, code }) => `**Example** (${title})\n\n\`\`\`ts\n${code.trimEnd()}\n\`\`\``),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
