/**
 * Turns a program of a page into a module that can be run. A page may use `store` without opening one, and names of the
 * library without importing them. The module adds both on the first line, so that line numbers do not change.
 */
import ts from 'typescript';

/** Returns the text of the module. `moduleOf` finds the module that exports a name. */
export function moduleOfProgram(code: string, moduleOf: (name: string) => string | undefined): string {
  const { declared, used } = namesIn(ts.createSourceFile('page.ts', code, ts.ScriptTarget.Latest, true));
  const missing = [...used].filter((name) => !declared.has(name));
  const needsStore = missing.includes('store');
  const names = needsStore && !declared.has('open') ? [...missing, 'open'] : missing;
  const imports = [...new Set(names)].flatMap((name) => {
    const module = moduleOf(name);
    return module === undefined ? [] : [`import { ${name} } from ${JSON.stringify(module)};`];
  });
  const store = needsStore ? ["const store = await open('memory:');"] : [];
  return `${[...imports, ...store].join(' ')}${code}\nexport {};\n`;
}

/** Returns the names that the code declares anywhere, and those that it uses. */
function namesIn(source: ts.SourceFile): { declared: Set<string>; used: Set<string> } {
  const declared = new Set<string>();
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      if (isDeclared(node)) declared.add(node.text);
      else if (!isMember(node)) used.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { declared, used };
}

function isDeclared(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (ts.isImportSpecifier(parent) ||
      ts.isVariableDeclaration(parent) ||
      ts.isBindingElement(parent) ||
      ts.isParameter(parent) ||
      ts.isFunctionDeclaration(parent) ||
      ts.isClassDeclaration(parent) ||
      ts.isInterfaceDeclaration(parent) ||
      ts.isTypeAliasDeclaration(parent)) &&
    parent.name === node
  );
}

/** Returns whether the identifier names a member of an object and not a variable. */
function isMember(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    ((ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent)) &&
      parent.name === node) ||
    (ts.isBindingElement(parent) && parent.propertyName === node)
  );
}
