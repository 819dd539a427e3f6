/**
 * Lets a caller run tasks inside a workflow that this process executes: libraries for durable workflows store a step only
 * from within its workflow. The workflow takes tasks until its mailbox is closed.
 */

export class Mailbox<Inside> {
  readonly #tasks: ((inside: Inside) => void)[] = [];
  readonly #opened = Promise.withResolvers<void>();
  #wake = () => {};
  #closed = false;

  /** Resolves once the workflow runs. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Runs a task inside the workflow and returns its result. */
  post<T>(task: (inside: Inside) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#tasks.push((inside) => task(inside).then(resolve, reject));
    this.#wake();
    return promise;
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** The body of the workflow: starts each task as it is posted. */
  async serve(inside: Inside): Promise<void> {
    this.#opened.resolve();
    for (;;) {
      for (const task of this.#tasks.splice(0)) task(inside);
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** The mailboxes of the workflows in this process, by a name that each workflow gets as its input. */
export class Mailboxes<Inside> {
  readonly #boxes = new Map<string, Mailbox<Inside>>();

  create(name: string): Mailbox<Inside> {
    const box = new Mailbox<Inside>();
    this.#boxes.set(name, box);
    return box;
  }

  of(name: string): Mailbox<Inside> {
    const box = this.#boxes.get(name);
    if (!box) throw new Error(`No workflow runs for ${name}`);
    return box;
  }

  close(name: string): void {
    this.of(name).close();
    this.#boxes.delete(name);
  }
}
