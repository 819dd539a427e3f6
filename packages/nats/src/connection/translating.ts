/** Lets a port of the engine speak in errors of the store: whatever NATS or its driver throws is translated on the way out. */
import { translate } from '../errors.ts';

export function translating<Port extends object>(port: Port): Port {
  return new Proxy(port, {
    get(target, property) {
      const member = Reflect.get(target, property, target) as unknown;
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const result = member.apply(target, args) as unknown;
        return result instanceof Promise ? result.catch((error) => Promise.reject(translate(error))) : result;
      };
    },
  });
}
