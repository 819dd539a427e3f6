/** The oldest supported versions of LangChain's core and of LangGraph's checkpoint package. */
import { HumanMessage } from '@langchain/core/messages';
import { HumanMessage as OldestHumanMessage } from 'langchain-core-oldest/messages';
import { describe, expect, it, vi } from 'vitest';
import { Serialiser } from '../src/serialising.ts';

vi.mock('@langchain/langgraph-checkpoint', () => import('langgraph-checkpoint-oldest'));
vi.mock('@langchain/core/load', () => import('langchain-core-oldest/load'));
vi.mock('@langchain/core/messages', () => import('langchain-core-oldest/messages'));
vi.mock('@langchain/core/documents', () => import('langchain-core-oldest/documents'));
vi.mock('@langchain/core/prompts', () => import('langchain-core-oldest/prompts'));

describe('with the oldest supported versions', async () => {
  await import('../src/serialising.test.ts');

  it('reads messages with the oldest version of core', async () => {
    const serde = { dumpsTyped: () => Promise.reject(new Error()), loadsTyped: () => Promise.reject(new Error()) };
    const serialiser = new Serialiser({ serde }, false);
    const message = await serialiser.load(await serialiser.dump(new HumanMessage('Hello')));
    expect(message).toBeInstanceOf(OldestHumanMessage);
  });
});
