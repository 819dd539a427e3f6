/** The shared state of the parts of the journal. */
import type { EngineCall, JournalName } from '@tidemark/core/engine';
import type { Client } from '../client.ts';
import type { Hints } from '../hints.ts';
import type { EntryReader } from './entries.ts';
import type { Feed } from './feed.ts';
import type { Head } from './head.ts';
import type { KeyFinder } from './key-finder.ts';
import type { JournalLists } from './lists.ts';

export interface JournalSources {
  client: Client;
  hints: Hints;
  clock: () => number;
  shards: number;
}

export interface JournalParts extends JournalSources {
  entries: EntryReader;
  keys: KeyFinder;
  lists: JournalLists;
  feed: Feed;
  readHead(name: JournalName, call: EngineCall): Promise<Head>;
}
