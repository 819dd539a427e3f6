/** Serves the files of the inspector and of the documentation with a policy that allows only its own scripts and no other hosts. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** Where the build puts the inspector, relative to the sources and to the built files. */
const BUILT = fileURLToPath(new URL('../inspector', import.meta.url));
/** Where the build puts the documentation. */
const BUILT_DOCS = fileURLToPath(new URL('../docs', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.yml': 'text/plain; charset=utf-8',
};

const RULES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const SAFETY = {
  'content-security-policy': RULES,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Paths that belong to the API. The inspector handles every other path that is requested as a page. */
export const OF_THE_API = /^\/(v1|errors|docs|openapi\.json|metrics|healthz|readyz|mcp)(\/|$)/;
/** The names of files under this path contain a hash of their content. */
const HASHED = '/assets/';

interface Page {
  bytes: Buffer;
  zipped: Buffer;
  tag: string;
  type: string;
}

/** Handles a request for a page or a file of the inspector. Returns whether it handled the request. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Serves the pages in a directory. Serves nothing if the directory is `false` or missing. Leaves unwelcome requests to
 * the API, which responds with the reason.
 */
export function inspectorPages(
  directory: string | false = BUILT,
  isWelcome: (request: IncomingMessage) => boolean = () => true,
): PageHandler {
  const files = directory === false ? new Map<string, Page>() : readFiles(directory);
  const start = files.get('/index.html');
  return (request, response) => {
    if (!start || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
    const path = request.url!.split('?', 1)[0]!;
    const asksForPage = request.headers.accept?.includes('text/html') === true;
    const wantsPage = path === '/' || (asksForPage && !OF_THE_API.test(path));
    const file = files.get(path) ?? (wantsPage ? start : undefined);
    // Pages also require this check, because a server that accepts any host name can be attacked with DNS rebinding.
    if (!file || !isWelcome(request)) return false;
    send(request, response, file, path.startsWith(HASHED));
    return true;
  };
}

/** Serves the documentation at `/docs`. Serves nothing if the directory is `false` or missing. */
export function documentationPages(
  directory: string | false = BUILT_DOCS,
  isWelcome: (request: IncomingMessage) => boolean = () => true,
): PageHandler {
  const files = directory === false ? new Map<string, Page>() : readFiles(directory);
  return (request, response) => {
    if (files.size === 0 || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
    const path = request.url!.split('?', 1)[0]!;
    // The links of the page are relative to the folder.
    const isFolder = path === '/docs';
    const file = files.get(path === '/docs/' || isFolder ? '/index.html' : path.replace(/^\/docs(?=\/)/, ''));
    if (!/^\/docs(\/|$)/.test(path) || !file || !isWelcome(request)) return false;
    if (isFolder) response.writeHead(308, { ...SAFETY, location: '/docs/' }).end();
    else send(request, response, file, false);
    return true;
  };
}

function readFiles(directory: string): Map<string, Page> {
  const names = existsSync(directory) ? globSync('**/*.*', { cwd: directory }) : [];
  return new Map(
    names.map((name) => {
      const bytes = readFileSync(join(directory, name));
      const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
      const type = TYPES[extname(name)] ?? 'application/octet-stream';
      return [`/${name.replaceAll(sep, '/')}`, { bytes, zipped: gzipSync(bytes), tag, type }];
    }),
  );
}

function send(request: IncomingMessage, response: ServerResponse, file: Page, isHashed: boolean): void {
  const caching = { etag: file.tag, 'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-store' };
  if (request.headers['if-none-match'] === file.tag) {
    response.writeHead(304, { ...SAFETY, ...caching }).end();
    return;
  }
  const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const body = isZipped ? file.zipped : file.bytes;
  const encoding = isZipped ? { 'content-encoding': 'gzip' } : {};
  const content = { 'content-type': file.type, 'content-length': body.length, vary: 'accept-encoding', ...encoding };
  response.writeHead(200, { ...SAFETY, ...caching, ...content }).end(request.method === 'HEAD' ? undefined : body);
}
