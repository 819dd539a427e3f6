/** An npm registry on this machine that has the packed packages and redirects to the public one for all others. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Packed } from '../packages/pack.ts';

const PUBLIC = 'https://registry.npmjs.org';

export interface Registry {
  url: string;
  close(): void;
}

/** Returns the registry's document about a package, with its only version. */
function documentOf({ name, tarball }: Packed, url: string): string {
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }));
  const integrity = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
  const { version } = manifest;
  const dist = { tarball: `${url}/-/${encodeURIComponent(name)}.tgz`, integrity };
  return JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } });
}

export async function startRegistry(packed: readonly Packed[]): Promise<Registry> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url!.slice(1));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const described = packed.find(({ name }) => name === path);
    const sent = packed.find(({ name }) => path === `-/${name}.tgz`);
    if (described) response.end(documentOf(described, url));
    else if (sent) response.end(readFileSync(sent.tarball));
    else response.writeHead(302, { location: PUBLIC + request.url }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
