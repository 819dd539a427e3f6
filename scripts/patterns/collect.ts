/** Collects every regular expression in the packages' sources with the TypeScript parser, without tests. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export interface FoundPattern {
  /** For example `packages/core/src/checks/json.ts:115`. */
  at: string;
  pattern: RegExp;
}

export interface FoundPatterns {
  literals: FoundPattern[];
  /** Files that build a RegExp from text, which cannot be measured without running them. */
  built: string[];
}

export function collectPatterns(root: string): FoundPatterns {
  const found: FoundPatterns = { literals: [], built: [] };
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).sort();
  for (const file of files) {
    if (/\.test\.tsx?$/.test(file)) continue;
    const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
    visit(source, source, file, found);
  }
  return found;
}

function visit(node: ts.Node, source: ts.SourceFile, file: string, found: FoundPatterns): void {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.literals.push({
      at: `${file}:${line + 1}`,
      pattern: new RegExp(node.text.slice(1, end), node.text.slice(end + 1)),
    });
  } else if (isBuilt(node)) found.built.push(file);
  ts.forEachChild(node, (child) => visit(child, source, file, found));
}

function isBuilt(node: ts.Node): boolean {
  return (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';
}
