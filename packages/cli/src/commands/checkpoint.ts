/** `checkpoint`: writes signed checkpoints of all runs to a file or a run. `verify` compares a store with them. */
import { generateKeyPairSync } from 'node:crypto';
import { invalidArgument } from '@tidemark/core';
import { keySummary, readKey } from '../checkpoint-keys.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { one, text } from '../options.ts';
import { expectNoFile, writeWholeFile } from '../whole-file.ts';

const keygen = defineCommand({
  name: 'checkpoint keygen',
  summary: 'Create a key pair for checkpoints',
  details:
    'Writes the private key to a new file that only you can read, and the public key next to it, with the extension .pub. Keep the private key where writers of the store cannot read it.',
  effect: 'ro',
  args: { file: one('new file for the private key') },
  examples: [
    { line: 'checkpoint keygen signing.key', shows: '"publicKey":"signing.key.pub"' },
    { line: 'checkpoint keygen checkpoint.key', shows: 'does not exist yet', exit: 2 },
  ],
  async run({ out, args }) {
    const [key, publicKey] = [args.file, `${args.file}.pub`];
    for (const path of [key, publicKey]) expectNoFile(path, 'file');
    const pair = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    await writeWholeFile(key, [pair.privateKey]);
    await writeWholeFile(publicKey, [pair.publicKey], 0o644);
    await out.report({ key, publicKey }, key);
  },
});

const checkpoint = defineCommand({
  name: 'checkpoint',
  summary: 'Append a signed checkpoint of all runs to a file or a run',
  details:
    'Reads the runs that have changed since the last checkpoint. A file is safer than a run of the same store, because writers of the store can remove the last checkpoints from such a run. With --tenant, covers only runs of this tenant. Exits with code 6 if a damaged run could not be read; its previous point is kept.',
  effect: 'ro',
  options: {
    to: text('file', 'file of checkpoints; a missing one is created'),
    toRun: text('run', 'run of checkpoints in the same store, instead of a file'),
    key: text('file', keySummary('the private key', '--key')),
  },
  examples: [
    { line: 'checkpoint --to checkpoints.jsonl --key checkpoint.key', shows: '"number":2' },
    { line: 'checkpoint --to-run checkpoints --key checkpoint.key', shows: '"number":1' },
    { line: 'checkpoint --to checkpoints.jsonl', shows: 'TIDEMARK_CHECKPOINT_KEY_FILE', exit: 2 },
  ],
  async run(context) {
    const { store, out, options, longCall } = context;
    const { to, toRun } = options;
    if ((to === undefined) === (toRun === undefined))
      throw invalidArgument('--to', 'given, or --to-run, and not both', to);
    const key = await readKey(context, '--key', options.key);
    const { createCheckpointer } = await import('@tidemark/runtime');
    const opened = await store({ mustExist: true });
    const { damaged, number, at, runs, changed, root } = await createCheckpointer({
      ...{ store: opened, key },
      ...(toRun === undefined ? { file: to! } : { run: { store: opened, runId: toRun } }),
    }).checkpoint(longCall);
    await out.report(
      {
        ...(toRun === undefined ? { file: to } : { run: toRun }),
        number,
        at,
        runs,
        changed,
        damaged: damaged.length,
        root,
      },
      String(number),
    );
    for (const { tenantId, runId, reason } of damaged) await out.note(`${tenantId}/${runId} is damaged: ${reason}`);
    return damaged.length === 0 ? EXIT.ok : EXIT.unmet;
  },
});

/** Completion takes the first name that matches, so the longer name comes first. */
export const checkpointCommands = [keygen, checkpoint];
