/** The page of all routes, from the OpenAPI document: a table, and an entry for each route with its parameters and an example. */
import { openApiDocument } from '@tidemark/server';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
}

interface Operation {
  summary: string;
  description: string;
  parameters: Parameter[];
  responses: Record<string, { description: string }>;
  'x-scope'?: string;
  'x-codeSamples': [{ source: string }];
}

/** Parameters that `http.md` explains once for all routes. */
const COMMON = ['tenant', 'Tidemark-Tenant', 'Tidemark-Timeout'];

export function renderRoutesPage(): string {
  const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  );
  const rows = routes.map(
    ({ method, path, summary, 'x-scope': scope }) =>
      `| \`${method}\` | \`${path}\` | ${scope ?? 'open'} | ${summary} |`,
  );
  return `# HTTP routes

The routes of the server. [http.md](http.md) has the rules common to all of them, and \`/openapi.json\` the bodies and problems of each.
Words in capitals in an example, such as \`ARTIFACT_ID\`, stand for values of your store; a test sends every example. This page is
generated from the code by \`npm run docs\`.

| method | path | scope | description |
| --- | --- | --- | --- |
${rows.join('\n')}

${routes.map(renderRoute).join('\n')}`;
}

function renderRoute(route: Operation & { method: string; path: string }): string {
  const { method, path, summary, description, parameters, responses } = route;
  const query = parameters.filter(({ in: where, name }) => where === 'query' && !COMMON.includes(name));
  const named = query.map(({ name, required }) => `\`${name}\`${required ? ' (required)' : ''}`);
  const statuses = Object.keys(responses).filter((status) => status < '400');
  return `## ${method} ${path}

${summary}. ${description}

${named.length === 0 ? '' : `Parameters: ${named.join(', ')}. `}Success: ${statuses.join(', ')}.

\`\`\`sh
${route['x-codeSamples'][0].source}
\`\`\`
`;
}
