/** Signals within one process. Publishing a signal calls its subscribers. */
import type { JobSignal, Publish } from '../signals.ts';

type Listener = (signal: JobSignal) => void;

/** Delivers signals within this process. `inProcessPublisher` returns one. */
export interface InProcessPublisher {
  publish: Publish;
  /** Calls the listener for every signal of the subject. Returns a function that unsubscribes. */
  subscribe(subject: string, listener: Listener): () => void;
}

/**
 * Creates a publisher for workers in the same process.
 *
 * @example
 * const signals = inProcessPublisher();
 * const worker = createWorker({
 *   store,
 *   taskType: 'email-send',
 *   handler: async ({ job }) => console.log('send', job.taskId),
 *   publish: signals.publish,
 *   wake: (notify) => signals.subscribe(subjectOf('email-send', 'queue'), notify),
 * });
 */
export function inProcessPublisher(): InProcessPublisher {
  const listeners = new Map<string, Set<Listener>>();
  return {
    async publish(subject, signal) {
      // Each listener gets its own copy, and an error in one listener does not affect the others.
      const failures: unknown[] = [];
      for (const listener of [...(listeners.get(subject) ?? [])]) {
        try {
          listener({ ...signal });
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
    subscribe(subject, listener) {
      const ofSubject = listeners.get(subject) ?? new Set();
      listeners.set(subject, ofSubject.add(listener));
      return () => {
        ofSubject.delete(listener);
        if (ofSubject.size === 0 && listeners.get(subject) === ofSubject) listeners.delete(subject);
      };
    },
  };
}
