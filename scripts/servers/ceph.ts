/**
 * Ceph's S3 gateway for tests: one monitor, one storage daemon that keeps everything in memory, and the gateway. A small
 * shell starts the three and stops them together.
 */

import { dirname } from 'node:path';
import type { Installation, ServerKind } from './kind.ts';

/** The keys of the gateway's users. `full` may store `FULL_AFTER` objects. */
export const S3_KEYS = {
  tidemark: { accessKeyId: 'TIDEMARKTIDEMARKTIDE', secretAccessKey: 'tidemark-secret-of-the-tests' },
  full: { accessKeyId: 'FULLFULLFULLFULLFULL', secretAccessKey: 'full-secret-of-the-tests' },
} as const;
export const FULL_AFTER = 2;

const MEMORY_BYTES = 8 * 1024 ** 3;

const configuration = ({ directory, ports: [gateway, monitor] }: Pick<Installation, 'directory' | 'ports'>) => `
[global]
fsid = 7c0ab4d5-5f0e-4a54-9c8f-6d3b2c8a9e10
mon host = [v2:127.0.0.1:${monitor}/0]
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
# A new pool waits for a proposal of the monitor, which by default comes once a second.
paxos propose interval = 0.05
paxos min wait = 0.01
run dir = ${directory}
pid file = ${directory}/$name.pid
admin socket = ${directory}/$name.asok
log file = ${directory}/$name.log
mon cluster log file = ${directory}/cluster.log
crash dir = ${directory}
[mon.a]
mon data = ${directory}/mon
[osd.0]
osd data = ${directory}/osd
osd objectstore = memstore
memstore device bytes = ${MEMORY_BYTES}
[client.gateway]
rgw data = ${directory}/gateway
rgw frontends = beast endpoint=127.0.0.1:${gateway}
# The gateway's own default, secure, needs authentication between the daemons.
ms mon client mode = crc
`;

const START = `
  umask 077
  mkdir -p mon osd gateway
  conf="$PWD/ceph.conf"
  cat >"$conf" <<'END'
%CONFIGURATION%
END
  daemons=
  stop() { trap '' TERM; [ -z "$daemons" ] || kill -s KILL $daemons; wait; exit 0; }
  trap stop TERM INT
  start() { "$@" & daemons="$daemons $!"; }
  admin() { radosgw-admin -c "$conf" -n client.gateway "$@" >/dev/null; }
  fail() { echo "$1 failed"; stop; }

  monmaptool --create --fsid 7c0ab4d5-5f0e-4a54-9c8f-6d3b2c8a9e10 --addv a "[v2:127.0.0.1:$1]" monmap || fail monmaptool
  ceph-mon --mkfs -i a -c "$conf" --monmap monmap || fail 'ceph-mon --mkfs'
  start ceph-mon -i a -f -c "$conf"
  uuid=3d1f7c52-6d1e-4f0b-9a39-0f6f5d0c9b1e
  ceph -c "$conf" osd new $uuid || fail 'ceph osd new'
  ceph-osd -i 0 --mkfs --osd-uuid $uuid -c "$conf" || fail 'ceph-osd --mkfs'
  start ceph-osd -i 0 -f -c "$conf"
  admin user create --uid tidemark --display-name tidemark --access-key "$2" --secret-key "$3" || fail radosgw-admin
  admin user create --uid full --display-name full --access-key "$4" --secret-key "$5" || fail radosgw-admin
  admin quota set --quota-scope user --uid full --max-objects "$6" || fail radosgw-admin
  admin quota enable --quota-scope user --uid full || fail radosgw-admin
  start radosgw -n client.gateway -f -c "$conf"
  wait
`;

export const ceph: ServerKind = {
  name: 's3',
  title: "Ceph's S3 gateway",
  program: 'radosgw',
  elsewhere: ['/usr/bin', '/usr/local/bin'],
  aptPackage: ['radosgw', 'ceph-mon', 'ceph-osd'],
  container: { ports: [7480, 3300], args: [], environment: {} },
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  prepare: async () => '/bin/sh',
  serverArgs: (installation) => [
    ...[
      '-c',
      `PATH='${dirname(installation.program)}':$PATH${START.replace('%CONFIGURATION%', () => configuration(installation))}`,
    ],
    ...['tidemark-ceph', String(installation.ports[1])],
    ...[S3_KEYS.tidemark.accessKeyId, S3_KEYS.tidemark.secretAccessKey],
    ...[S3_KEYS.full.accessKeyId, S3_KEYS.full.secretAccessKey, String(FULL_AFTER)],
  ],
  url: (port) => `http://127.0.0.1:${port}`,
  probe,
};

/** Lists the buckets without a key, which every S3 server answers or refuses with XML. */
async function probe(url: URL): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  const text = await answer.text();
  if (!text.includes('<ListAllMyBucketsResult') && !text.includes('<Error>')) throw new Error('This is no S3 server');
  return answer.headers.get('server') ?? 'S3';
}
