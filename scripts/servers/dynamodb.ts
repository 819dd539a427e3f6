/** dynoxide, a DynamoDB emulator that npm installs on Linux x64, in memory. DynamoDB itself cannot be started. */

import { join } from 'node:path';
import { ROOT, runQuietly } from '../processes.ts';
import type { ServerKind } from './kind.ts';

const DIRECTORY = join(ROOT, 'node_modules', '@dynoxide', 'linux-x64');

export const dynamodb: ServerKind = {
  name: 'dynamodb',
  title: 'dynoxide (a DynamoDB emulator)',
  program: 'dynoxide',
  elsewhere: [DIRECTORY],
  container: { image: 'amazon/dynamodb-local:3.0.0', ports: [8000], args: [], environment: {} },
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  serverArgs: ({ ports }) => ['--host', '127.0.0.1', '--port', String(ports[0])],
  url: (port) => `dynamodb://eu-west-1/?endpoint=http://127.0.0.1:${port}`,
  probe,
};

/** The emulators do not check signatures, but a request needs the header. Real AWS answers 400 to this request. */
async function probe(url: URL): Promise<string> {
  const endpoint = url.searchParams.get('endpoint') ?? `https://dynamodb.${url.host}.amazonaws.com`;
  const credential = `Credential=tests/20260101/${url.host}/dynamodb/aws4_request`;
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'DynamoDB_20120810.ListTables',
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=none`,
    },
    body: '{"Limit":1}',
  });
  const text = await answer.text();
  if (!answer.headers.has('x-amzn-requestid') && !text.includes('TableNames')) throw new Error(text.slice(0, 200));
  const { output } = await runQuietly(join(DIRECTORY, 'dynoxide'), ['--version']);
  return /\d+\.\d+\.\d+/.exec(output)?.[0] ?? 'unknown';
}
