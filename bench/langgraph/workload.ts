/** The work of `npm run bench -- langgraph`: checkpoints of chats, and a chat in a real graph. */
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { type BaseCheckpointSaver, type Checkpoint, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';

const WORDS = 'the engine stores a checkpoint for every step of a graph and returns the latest one when asked'.split(
  ' ',
);

type Config = { configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id?: string } };

/** Returns text that compresses about as well as prose. */
function prose(seed: number, words: number): string {
  let state = seed * 2_654_435_761 + 1;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state;
  };
  return Array.from(
    { length: words },
    () => `${WORDS[next() % WORDS.length]}${next() % 40 === 0 ? `-${next()}` : ''}`,
  ).join(' ');
}

let clock = 0;

/** A chat of which each step replaces one of its messages, so that its size stays the same. */
export class Chat {
  readonly thread: Config = { configurable: { thread_id: crypto.randomUUID(), checkpoint_ns: '' } };
  readonly #messages: BaseMessage[];
  #config = this.thread;
  #step = 0;

  constructor(messages: number) {
    this.#messages = Array.from({ length: messages }, (_, at) => new HumanMessage(prose(at, 60)));
  }

  /** Stores the checkpoint of the next step. */
  async put(saver: BaseCheckpointSaver): Promise<void> {
    const step = ++this.#step;
    const values = { messages: this.#messages, topic: 'checkpoints', 'branch:to:model': step };
    const versions = { messages: step, topic: 1, 'branch:to:model': step };
    const checkpoint: Checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(clock++),
      channel_values: values,
      channel_versions: versions,
    };
    const changed = step === 1 ? versions : { messages: step, 'branch:to:model': step };
    const metadata = { source: 'loop', step, parents: {} } as const;
    this.#config = (await saver.put(this.#config, checkpoint, metadata, changed)) as Config;
    this.#messages[step % this.#messages.length] = new AIMessage(prose(step, 60));
  }

  /** Reads the latest checkpoint. */
  async get(saver: BaseCheckpointSaver): Promise<void> {
    const tuple = await saver.getTuple(this.thread);
    const { messages } = tuple!.checkpoint.channel_values as { messages: unknown[] };
    if (messages.length !== this.#messages.length) throw new Error(`The checkpoint has ${messages.length} messages`);
  }
}

/** Runs a chat that grows by two messages per turn, in a graph. */
export async function runChat(saver: BaseCheckpointSaver, turns: number): Promise<void> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', ({ messages }) => ({ messages: [new AIMessage(prose(messages.length, 120))] }))
    .addEdge(START, 'model')
    .addEdge('model', END)
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: 'chat' } };
  for (let turn = 0; turn < turns; turn++)
    await graph.invoke({ messages: [new HumanMessage(prose(1_000 + turn, 25))] }, config);
  const { messages } = (await graph.getState(config)).values as { messages: BaseMessage[] };
  if (messages.length !== 2 * turns) throw new Error(`The chat has ${messages.length} messages`);
}
