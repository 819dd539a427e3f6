/** `context`: names for stores, kept in a file in the user's configuration directory. */

import { resolve } from 'node:path';
import { invalidArgument } from '@tidemark/core';
import { invalidUrl, shownUrl } from '@tidemark/core/engine';
import { defineCommand } from '../command.ts';
import { contextPath, findContext, type NamedContext, readContexts, writeContexts } from '../contexts.ts';
import { AdvisedError } from '../failures.ts';
import type { Io } from '../io.ts';
import { maybe, one, text } from '../options.ts';
import type { View } from '../output.ts';
import { resolveSettings, type StoreFlags } from '../settings.ts';

interface ListedContext extends NamedContext {
  name: string;
  isCurrent: boolean;
}

const CONTEXTS: View<ListedContext> = {
  columns: [
    { title: '', of: ({ isCurrent }) => (isCurrent ? '*' : '') },
    { title: 'NAME', of: ({ name }) => name },
    { title: 'STORE', of: ({ store }) => shownUrl(store) },
    { title: 'TENANT', of: ({ tenant }) => tenant },
  ],
  id: ({ name }) => name,
  json: ({ store, ...rest }) => ({ ...rest, store: shownUrl(store) }),
};

const NAME = one('name of the context');

const add = defineCommand({
  name: 'context add',
  summary: 'Add a name for a store',
  details:
    'Contexts are kept in $XDG_CONFIG_HOME/tidemark/contexts.json, readable only by you. Relative SQLite paths are made absolute.',
  effect: 'rw',
  args: { name: NAME, url: maybe('URL of the store (default: from --store-file or TIDEMARK_STORE)') },
  options: { tokenFile: text('file', 'file that holds the server token') },
  examples: [
    { line: 'context add production http://127.0.0.1:7420 --tenant acme', shows: '"name":"production"' },
    { line: 'context add local sqlite:app.db --dry-run', shows: '"would":"add"' },
  ],
  async run({ out, io, args, options: { tokenFile }, flags, dryRun }) {
    const { name } = args;
    const url = args.url ?? configuredUrl(flags, io.env);
    if (!/^[\w.-]+$/.test(name))
      throw invalidArgument('name', 'of letters, digits, dots, dashes and underscores', name);
    if (!/^[a-z]+:/.test(url))
      throw invalidUrl('the URL of a store, such as sqlite:app.db or http://127.0.0.1:7420', url);
    const context: NamedContext = {
      store: url.replace(/^sqlite:(?!\/)(.+)$/, (_, path: string) => `sqlite:${resolve(path)}`),
      ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }),
      ...(tokenFile === undefined ? {} : { tokenFile: resolve(tokenFile) }),
    };
    const shown = { name, ...context, store: shownUrl(context.store) };
    if (dryRun) return out.report({ dryRun: true, would: 'add', ...shown }, name);
    const file = readContexts(io.env);
    writeContexts(io.env, { current: name, ...file, contexts: { ...file.contexts, [name]: context } });
    await out.report(shown, name);
  },
});

/** Returns the URL of a new context if it was not passed as an argument. */
function configuredUrl(flags: StoreFlags, env: Io['env']): string {
  const { store, storeFrom } = resolveSettings(
    { ...flags, context: undefined },
    { ...env, TIDEMARK_CONTEXT: undefined },
  );
  if (/^(--store|TIDEMARK_STORE)/.test(storeFrom)) return store;
  throw invalidArgument('url', 'given, or in the file of --store-file, or in TIDEMARK_STORE');
}

const use = defineCommand({
  name: 'context use',
  summary: 'Switch to a context',
  effect: 'rw',
  args: { name: one('name of the context, or - for the previous one') },
  examples: [
    { line: 'context use staging', shows: '"current":"staging"' },
    { line: 'context use -', shows: '"current":"staging"' },
  ],
  async run({ out, io, args, dryRun }) {
    const file = readContexts(io.env);
    const name = args.name === '-' ? file.previous : args.name;
    if (name === undefined)
      throw new AdvisedError(
        'Name a context; `tidemark context list` shows them.',
        'NOT_FOUND',
        'No other context has been used yet',
      );
    findContext(file, name);
    if (dryRun) return out.report({ dryRun: true, would: 'use', current: name }, name);
    writeContexts(io.env, {
      ...file,
      current: name,
      ...(file.current === undefined ? {} : { previous: file.current }),
    });
    await out.report({ current: name }, name);
  },
});

const list = defineCommand({
  name: 'context list',
  summary: 'List contexts',
  effect: 'ro',
  examples: [{ line: 'context list', shows: '"name":"local"' }],
  async run({ out, io }) {
    const { current, contexts } = readContexts(io.env);
    const all = Object.entries(contexts).map(([name, it]) => ({ name, isCurrent: name === current, ...it }));
    await out.list(all, CONTEXTS, `There are no contexts in ${contextPath(io.env)}.`);
  },
});

const current = defineCommand({
  name: 'context current',
  summary: 'Show the current store and where it is configured',
  effect: 'ro',
  examples: [{ line: 'context current --store sqlite:app.db', shows: '"from":"--store"' }],
  async run({ out, settings: { store, storeFrom, tenant, token, readOnly } }) {
    await out.report({
      store: shownUrl(store),
      from: storeFrom,
      tenant,
      token: token === undefined ? 'none' : 'set',
      readOnly,
    });
  },
});

const remove = defineCommand({
  name: 'context rm',
  summary: 'Remove a context',
  details: 'The store itself is not changed.',
  effect: 'rw',
  args: { name: NAME },
  examples: [{ line: 'context rm staging', shows: '"removed":"staging"' }],
  async run({ out, io, args, dryRun }) {
    const { contexts, current: now, previous } = readContexts(io.env);
    findContext({ contexts }, args.name);
    if (dryRun) return out.report({ dryRun: true, would: 'remove', name: args.name }, args.name);
    const { [args.name]: _removed, ...others } = contexts;
    const kept = (name: string | undefined) => (name === args.name ? undefined : name);
    writeContexts(io.env, {
      ...(kept(now) === undefined ? {} : { current: now! }),
      ...(kept(previous) === undefined ? {} : { previous: previous! }),
      contexts: others,
    });
    await out.report({ removed: args.name }, args.name);
  },
});

export const contextCommands = [add, use, list, current, remove];
