/** Headers of every response, which prevent browsers from guessing its type or caching it. */
import { type OutgoingHttpHeaders, ServerResponse } from 'node:http';

const SAFE: OutgoingHttpHeaders = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

/**
 * The server's response class. Headers that a handler sets take precedence, for example to allow caching of files with
 * hashed names.
 */
export class SafeResponse extends ServerResponse {
  override writeHead(statusCode: number, statusMessage?: string, headers?: OutgoingHttpHeaders): this;
  override writeHead(statusCode: number, headers?: OutgoingHttpHeaders): this;
  override writeHead(statusCode: number, reason?: string | OutgoingHttpHeaders, headers?: OutgoingHttpHeaders): this {
    if (typeof reason === 'string') return super.writeHead(statusCode, reason, { ...SAFE, ...headers });
    return super.writeHead(statusCode, { ...SAFE, ...reason });
  }
}

/** Adds the headers to a response of another server class. */
export function makeSafe(response: ServerResponse): void {
  if (response instanceof SafeResponse) return;
  for (const [name, value] of Object.entries(SAFE)) response.setHeader(name, value as string);
}

const REASONS: Record<string, string> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
};

/** Returns the response to a malformed request, which Node would write without these headers. */
export function malformedRequestResponse(code: string | undefined): string {
  const headers = Object.entries(SAFE).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${REASONS[code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n${headers.join('')}\r\n`;
}
