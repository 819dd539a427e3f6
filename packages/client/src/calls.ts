/**
 * Builds the methods of a domain from a table that names the route, the arguments and the result of each. The server
 * checks the arguments. The client rejects only values that a URL or JSON would change.
 */
import {
  type CallArgs,
  type CallOptions,
  checkInteger,
  checkObject,
  type MethodOf,
  type Store,
  type StoreDomain,
} from '@tidemark/core/portable';
import {
  type AnswerTo,
  type BodyTo,
  bodyOf,
  type ParamsTo,
  type QueryTo,
  type RouteName,
  refuseOldNames,
  targetWith,
} from '@tidemark/wire';
import { follow } from './live.ts';
import { orNull, type Request, type Transport } from './transport.ts';
import { uuid } from './uuid.ts';

/** Converts an argument to its JSON form. */
export type Encode = (value: unknown, field: string, maxBytes: number) => unknown;

type KeysOf<Body> = Body extends readonly unknown[] ? never : keyof Body;
/** The names of everything that a route accepts. */
type MemberOf<Name extends RouteName> = (keyof ParamsTo<Name> | keyof QueryTo<Name> | KeysOf<BodyTo<Name>>) & string;

interface FormOf<Name extends RouteName> {
  readonly route: Name;
  /**
   * The arguments in order, the options last. A name stands for an argument that is sent unchanged. A list stands for
   * an object: its name, and the members that are sent, or `*` if it is the whole body. A question mark means that it
   * may be absent.
   */
  readonly takes: readonly (MemberOf<Name> | readonly [name: string, ...members: (MemberOf<Name> | '*')[]])[];
  /** The parameters of a request with a body. */
  readonly query?: readonly (keyof QueryTo<Name>)[];
  /** The option that is sent as `If-Match`. */
  readonly ifMatch?: string;
  /** The id that makes the write safe to retry. The client creates it if the caller does not. */
  readonly mints?: 'requestId' | 'claimId';
  readonly encode?: { readonly [Member in MemberOf<Name>]?: Encode };
  /** Whether a request with a body only reads. */
  readonly reads?: true;
  /** Whether the result is `null` if there is nothing to find. */
  readonly finds?: true;
  /** Whether the server executes the request in many steps. */
  readonly isLong?: true;
  /**
   * Set if the response is read as it arrives: as lines, as lines that are collected into an array, or as live events.
   */
  readonly streams?: 'lines' | 'collected' | 'events';
  /**
   * The member of the response that is the result, or a function of the response and the arguments that returns the
   * result. Default: the whole response.
   */
  readonly answer?: (keyof AnswerTo<Name> & string) | ((answer: never, ...args: never[]) => unknown);
}

/** How a method calls a route. */
export type CallForm<Name extends RouteName = RouteName> = { [Each in Name]: FormOf<Each> }[Name];

/** The forms of some methods of a domain. */
export type FormsOf<D extends StoreDomain> = { readonly [M in MethodOf<D>]?: CallForm };

/** The result of a method. Streams have the types of the contract. */
type ResultOf<Form, Declared> = Form extends { streams: string }
  ? Declared
  : Promise<
      Form extends { answer: (answer: never, ...args: never[]) => infer Answer }
        ? Answer
        : Form extends { route: infer Name extends RouteName }
          ? AnswerResult<Form, AnswerTo<Name>> | (Form extends { finds: true } ? null : never)
          : never
    >;
type AnswerResult<Form, Answer> = Form extends { answer: infer Member extends keyof Answer }
  ? Answer[Member]
  : Answer extends null
    ? undefined
    : Answer;
type DeclaredResult<Method> = Method extends (...args: never) => infer Result ? Result : never;

/** The methods that forms describe. */
export type Methods<D extends StoreDomain, Forms> = {
  [M in keyof Forms & MethodOf<D>]: (...args: CallArgs<D, M>) => ResultOf<Forms[M], DeclaredResult<Store[D][M]>>;
};

/** Returns the methods that some forms describe. */
export function methodsOf<D extends StoreDomain, const Forms extends FormsOf<D>>(
  transport: Transport,
  domain: D,
  forms: Forms,
): Methods<D, Forms> {
  const methods = Object.entries<CallForm>(forms as never).map(([method, form]) => {
    const call = form.streams && form.streams !== 'collected' ? itemsOf : resultOf;
    return [method, (...args: unknown[]) => call(transport, domain, method, form, args)];
  });
  return Object.fromEntries(methods);
}

type Call = [transport: Transport, domain: StoreDomain, method: string, form: CallForm, args: readonly unknown[]];

async function resultOf(...call: Call): Promise<unknown> {
  const [transport, , , { takes, finds, streams, answer }, args] = call;
  if (streams) return Array.fromAsync(itemsOf(...call));
  const sent = transport.call(requestOf(...call), args[takes.length - 1] as CallOptions | undefined);
  const result = await (finds ? orNull(sent) : sent);
  if (typeof answer === 'function') return answer(result as never, ...(args as never[]));
  return answer === undefined ? result : (result as never)[answer];
}

async function* itemsOf(...call: Call): AsyncGenerator<unknown, void> {
  const [transport, , , { takes, streams }, args] = call;
  const request = requestOf(...call);
  const options = args[takes.length - 1] as CallOptions | undefined;
  if (streams !== 'events') yield* transport.lines(request, options);
  else for await (const { data } of follow(transport, request, options)) yield JSON.parse(data);
}

/** Returns the request of a call. Throws for an argument that the request could not express. */
export function requestOf<Name extends RouteName>(
  transport: Transport,
  domain: StoreDomain,
  method: string,
  { route, takes, query: inQuery = [], ifMatch, mints, encode = {}, reads, isLong }: CallForm<Name>,
  args: readonly unknown[],
): Request<Name> {
  const { documentBytes, fieldBytes } = transport.limits;
  const encoders = encode as Record<string, Encode>;
  const hasBody = /^P/.test(route);
  const ids: Record<string, unknown> = {};
  const query: Record<string, unknown> = {};
  let whole: Record<string, unknown> | undefined;
  let body: Record<string, unknown> | undefined;
  const partOf = (name: string) => {
    if (route.includes(`{${name}}`)) return ids;
    if (!hasBody || (inQuery as string[]).includes(name)) return query;
    body ??= {};
    return body;
  };
  const assign = (name: string, value: unknown) => {
    const part = partOf(name);
    if (value === undefined || (value === null && name === 'requestId')) return;
    part[name] = encoders[name] ? encoders[name](value, name, fieldBytes) : value;
  };
  takes.forEach((taken, at) => {
    if (typeof taken === 'string') assign(taken, args[at]);
    else {
      const [name, ...members] = taken;
      const object = objectIn(args[at], name);
      refuseOldNames(route, object);
      const isWhole = members[0] === '*';
      if (isWhole) whole = body = { ...object };
      for (const member of isWhole ? Object.keys(encoders) : members) assign(member, object[member]);
    }
  });
  const last = takes.length - 1;
  const carried: unknown[] = takes.map((taken, at) => (taken === 'token' ? { withheld: taken } : args[at]));
  // Servers of version 0.1 reject request ids in queries.
  const canMint = body || !transport.usesOldNames;
  if (mints && canMint && (body ?? query)[mints] === undefined) {
    const id = uuid();
    assign(mints, id);
    carried[last] = { ...(args[last] as object), [mints]: id };
  }
  const condition = ifMatch && Object(args[last])[ifMatch];
  // Members of a whole body may be the caller's own.
  const members = whole ?? (body && transport.named(route, body));
  // Each value of a record has been checked for its size.
  const mostBytes = domain === 'kv' ? Number.POSITIVE_INFINITY : documentBytes;
  return {
    ...targetWith(route, { ...whole, ...ids } as never),
    query: transport.named(route, query),
    body: members && bodyOf(members, mostBytes),
    headers: condition === undefined ? {} : { 'if-match': `"${checkInteger(condition, ifMatch!, 0)}"` },
    isLong,
    write: reads || route.startsWith('GET') ? undefined : transport.writeOf(domain, method, carried),
  };
}

/** Returns the members of an argument. Options may be anything, as in a local store. */
function objectIn(given: unknown, name: string): Record<string, unknown> {
  if (name === 'options?') return { ...(given as object) };
  return name.endsWith('?') ? checkObject(given ?? {}, name.slice(0, -1)) : checkObject(given, name);
}
