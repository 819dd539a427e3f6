/** Finds the operators and conditions of a TypeScript file, and those of the SQL inside its strings. */
import ts from 'typescript';
import type { Mutant } from './mutant.ts';
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
  const replace = (node: ts.Node, replacement: string) => {
    mutants.push({ file, start: node.getStart(tree), end: node.getEnd(), replacement });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const opposite = OPPOSITES[node.operatorToken.kind];
      if (opposite !== undefined && !joinsText(node)) replace(node.operatorToken, opposite);
    } else if (ts.isIfStatement(node)) {
      replace(node.expression, 'true');
      replace(node.expression, 'false');
    } else if (ts.isConditionalExpression(node)) {
      replace(node.condition, 'true');
      replace(node.condition, 'false');
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      replace(node, node.operand.getText(tree));
    } else if (isText(node)) {
      mutants.push(...sqlMutants(file, source, node.getStart(tree), node.getEnd()));
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return mutants;
}

/** `+` between texts has no meaningful opposite. */
function joinsText(node: ts.BinaryExpression): boolean {
  if (node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return false;
  return [node.left, node.right].some((side) => isText(side) || ts.isTemplateExpression(side));
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}
