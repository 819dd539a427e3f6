/** Finds the route of a path in a tree of segments. A parameter has no fixed siblings, so there is no backtracking. */

/** A parameter segment: `{runId}`. */
const PARAMETER = /^\{(\w+)\}$/;

class Node<T> {
  readonly fixed = new Map<string, Node<T>>();
  parameter: { name: string; node: Node<T> } | undefined;
  readonly methods = new Map<string, T>();
}

/** The routes of a path by method, and the raw segments of its parameters. */
export interface Match<T> {
  methods: ReadonlyMap<string, T>;
  segments: Record<string, string>;
}

export class Router<T> {
  readonly #root = new Node<T>();

  add(method: string, path: string, target: T): void {
    let node = this.#root;
    for (const segment of path.slice(1).split('/')) {
      const name = PARAMETER.exec(segment)?.[1];
      node = name === undefined ? this.#fixed(node, segment, path) : this.#parameter(node, name, path);
    }
    if (node.methods.has(method)) throw new Error(`${method} ${path} is declared twice`);
    node.methods.set(method, target);
  }

  #fixed(node: Node<T>, segment: string, path: string): Node<T> {
    if (node.parameter) throw new Error(`${path} has a fixed segment where another route has a parameter`);
    const next = node.fixed.get(segment) ?? new Node<T>();
    node.fixed.set(segment, next);
    return next;
  }

  #parameter(node: Node<T>, name: string, path: string): Node<T> {
    if (node.fixed.size > 0) throw new Error(`${path} has a parameter where another route has a fixed segment`);
    node.parameter ??= { name, node: new Node<T>() };
    if (node.parameter.name !== name) throw new Error(`${path} names a parameter otherwise than another route`);
    return node.parameter.node;
  }

  /** Returns the match of a path, or `null`. */
  find(path: string): Match<T> | null {
    let node = this.#root;
    const segments: Record<string, string> = {};
    for (let start = 1; start <= path.length; ) {
      const slash = path.indexOf('/', start);
      const end = slash < 0 ? path.length : slash;
      const segment = path.slice(start, end);
      start = end + 1;
      if (node.parameter) {
        segments[node.parameter.name] = segment;
        node = node.parameter.node;
      } else {
        const next = node.fixed.get(segment);
        if (!next) return null;
        node = next;
      }
    }
    return node.methods.size > 0 ? { methods: node.methods, segments } : null;
  }
}
