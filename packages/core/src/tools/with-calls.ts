/** Overrides single methods of an engine. */

/** Returns the same engine with some of its methods replaced. */
export function withCalls<T extends object>(engine: T, changed: Partial<T>): T {
  return new Proxy(engine, {
    get: (_, name) => {
      if (Object.hasOwn(changed, name)) return changed[name as keyof T];
      const member: unknown = Reflect.get(engine, name, engine);
      return typeof member === 'function' ? member.bind(engine) : member;
    },
  });
}
