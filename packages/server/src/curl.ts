/** Renders the example of a route as a curl command. */
import type { RouteExample } from '@tidemark/wire/routes';

const SERVER = 'http://127.0.0.1:7420';

/** Returns the command for a server on the default port of this machine. */
export function curlOf(method: string, { path, body, text, headers = {} }: RouteExample): string {
  const sent = body === undefined ? headers : { 'content-type': 'application/json', ...headers };
  const data = body === undefined ? text : JSON.stringify(body);
  const parts = [
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(SERVER + path),
    ...Object.entries(sent).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(data === undefined ? [] : [`-d ${quoted(data)}`]),
  ];
  return `curl ${parts.join(' ')}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
