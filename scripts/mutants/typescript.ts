/** Finds the operators and conditions of a TypeScript file, and of the SQL inside its strings. */
import ts from 'typescript';
import type { Mutant, Range } from './mutant.ts';
import { sqlMutants } from './sql.ts';

const OPPOSITES: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
};

export function typescriptMutants(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const rangeOf = (node: ts.Node): Range => ({ start: node.getStart(tree), end: node.getEnd() });
  /** Returns the members of a mutant that identify the expression that a switch replaces. */
  const hosted = (expression: ts.Node) => (runsInCalls(expression) ? { host: rangeOf(hostOf(expression)) } : {});
  const replace = (node: ts.Node, replacement: string, expression = node) => {
    mutants.push({ file, ...rangeOf(node), replacement, ...hosted(expression) });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const opposite = OPPOSITES[node.operatorToken.kind];
      if (opposite !== undefined && !joinsText(node)) replace(node.operatorToken, opposite, node);
    } else if (ts.isIfStatement(node)) {
      replace(node.expression, 'true');
      replace(node.expression, 'false');
    } else if (ts.isConditionalExpression(node)) {
      replace(node.condition, 'true');
      replace(node.condition, 'false');
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      replace(node, node.operand.getText(tree));
    } else if (isText(node)) {
      const { start, end } = rangeOf(node);
      const text = wholeText(node);
      mutants.push(...sqlMutants(file, source, start, end).map((it) => ({ ...it, ...(text ? hosted(text) : {}) })));
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return mutants;
}

/**
 * Returns the expression that contains all operators around this one: changing `&&` may also change which operator binds
 * more tightly.
 */
function hostOf(node: ts.Node): ts.Node {
  const { parent } = node;
  return ts.isBinaryExpression(parent) && !assigns(parent) ? hostOf(parent) : node;
}

function assigns({ operatorToken: { kind } }: ts.BinaryExpression): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

/** Whether this code runs in each call, and not once when its file is loaded. */
function runsInCalls(node: ts.Node): boolean {
  if (ts.isSourceFile(node)) return false;
  if (ts.isFunctionLike(node)) return true;
  const isField = ts.isPropertyDeclaration(node) && !ts.getModifiers(node)?.some(isStatic);
  return isField || runsInCalls(node.parent);
}

function isStatic({ kind }: ts.Modifier): boolean {
  return kind === ts.SyntaxKind.StaticKeyword;
}

/** Returns the expression that a string is part of, or `undefined` if it is a name and no expression. */
function wholeText(node: ts.Node): ts.Node | undefined {
  if (ts.isTemplateHead(node)) return wholeText(node.parent);
  if (ts.isTemplateMiddleOrTemplateTail(node)) return wholeText(node.parent.parent);
  if (ts.isTaggedTemplateExpression(node.parent)) return node.parent;
  return ts.isPropertyName(node) && 'name' in node.parent && node.parent.name === node ? undefined : node;
}

/** `+` between texts has no meaningful opposite. */
function joinsText(node: ts.BinaryExpression): boolean {
  if (node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return false;
  return [node.left, node.right].some((side) => isText(side) || ts.isTemplateExpression(side));
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}
