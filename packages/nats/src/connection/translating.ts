/** Wraps a port of the engine so that errors of NATS and its driver are translated to errors of the store. */
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
