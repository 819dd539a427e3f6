/** A link some of whose answers are played, for what a real server does too seldom to wait for. */
import type { Link } from '../src/link.ts';

export function playedLink(link: Link, played: Partial<Link>): Link {
  return new Proxy(link, {
    get: (own, name) => {
      const value = Reflect.get(name in played ? played : own, name, own);
      return typeof value === 'function' ? value.bind(own) : value;
    },
  });
}
