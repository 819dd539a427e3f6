/** A graph with a subgraph, an interrupt and a growing list, as an application would have. */
import { Annotation, type BaseCheckpointSaver, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (before, added) => before.concat(added), default: () => [] }),
  approved: Annotation<boolean | null>(),
});

const Child = Annotation.Root({
  log: Annotation<string[]>({ reducer: (before, added) => before.concat(added), default: () => [] }),
});

/** Builds the graph. `onStep` runs in every node, before it returns. */
export function buildGraph(
  checkpointer: BaseCheckpointSaver,
  onStep: (name: string) => void | Promise<void> = () => {},
) {
  const child = new StateGraph(Child)
    .addNode('look', async () => {
      await onStep('look');
      return { log: ['looked'] };
    })
    .addNode('think', async () => {
      await onStep('think');
      return { log: ['thought'] };
    })
    .addEdge(START, 'look')
    .addEdge('look', 'think')
    .addEdge('think', END)
    .compile();
  return new StateGraph(State)
    .addNode('plan', async () => {
      await onStep('plan');
      return { log: ['planned'] };
    })
    .addNode('research', async () => {
      const { log } = await child.invoke({ log: [] });
      return { log };
    })
    .addNode('ask', async () => {
      const approved = interrupt('May I?') === 'yes';
      await onStep('ask');
      return { approved, log: [approved ? 'approved' : 'refused'] };
    })
    .addNode('act', async () => {
      await onStep('act');
      return { log: ['acted'] };
    })
    .addEdge(START, 'plan')
    .addEdge('plan', 'research')
    .addEdge('research', 'ask')
    .addEdge('ask', 'act')
    .addEdge('act', END)
    .compile({ checkpointer });
}

/** Answers the interrupt. */
export const resumeWith = (answer: 'yes' | 'no') =>
  new Command<'yes' | 'no', Record<string, never>, never>({ resume: answer });

/** The log of a run that was approved. */
export const WHOLE_LOG = ['planned', 'looked', 'thought', 'approved', 'acted'];
