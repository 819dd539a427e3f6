/** Drafts behave like plain objects, share no objects after a change, and report every write. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WriteTracker } from './blame.ts';
import { Draft } from './draft.ts';

type Any = Record<string, unknown>;

function changed(initial: unknown, ...changes: ((state: never) => unknown)[]): unknown {
  const draft = new Draft(initial);
  for (const change of changes) draft.apply(change as (state: unknown) => unknown);
  return draft.holder.state;
}

function blamed(initial: unknown, ...changes: ((state: never) => unknown)[]): Record<string, number> {
  const tracker = new WriteTracker();
  const draft = new Draft(initial, tracker.record);
  for (const change of changes) {
    tracker.seq++;
    draft.apply(change as (state: unknown) => unknown);
  }
  return tracker.blame(draft);
}

describe('drafts', () => {
  it('do not change the initial state', () => {
    const initial = { list: [{ n: 1 }] };
    expect(
      changed(initial, (s: typeof initial) => {
        s.list[0]!.n = 2;
      }),
    ).toEqual({ list: [{ n: 2 }] });
    expect(initial).toEqual({ list: [{ n: 1 }] });
  });

  it('allow changes to an inserted object through either reference', () => {
    const state = changed({ byId: {}, list: [] as unknown[] }, (s: { byId: Any; list: { n: number }[] }) => {
      // biome-ignore lint/suspicious/noAssignInExpressions: handlers use this form, whose value is not the draft.
      const entry = ((s.byId as Record<string, { n: number }>).a ??= { n: 0 });
      entry.n++;
      const item = { n: 1 };
      s.list.push(item);
      item.n = 5;
      s.list[0]!.n++;
    });
    expect(state).toEqual({ byId: { a: { n: 1 } }, list: [{ n: 6 }] });
  });

  it('share no objects after a change', () => {
    const shared = { n: 1 };
    const state = changed(
      {},
      (s: Any) => void Object.assign(s, { a: shared, b: shared, list: [shared] }),
      (s: Any) => {
        ((s.a as Any).n as unknown) = 2;
      },
      (s: Any) => void Object.assign(s, { c: s.a }),
      (s: Any) => {
        ((s.c as Any).n as unknown) = 3;
      },
    );
    expect(state).toEqual({ a: { n: 2 }, b: { n: 1 }, c: { n: 3 }, list: [{ n: 1 }] });
    expect(shared).toEqual({ n: 1 });
  });

  it('share no objects after an array was reordered in the same change', () => {
    const shared = { n: 9 };
    const state = changed(
      { list: [{ n: 5 }, { n: 1 }], other: null as unknown },
      (s: { list: { n: number }[]; other: unknown }) => {
        s.list.push(shared);
        s.other = shared;
        s.list.sort((a, b) => b.n - a.n);
      },
      (s: { list: { n: number }[] }) => {
        s.list[0]!.n = 10;
      },
    );
    expect(state).toEqual({ list: [{ n: 10 }, { n: 5 }, { n: 1 }], other: { n: 9 } });
    expect(shared.n).toBe(9);
  });

  it('keep the identity of an element that was moved', () => {
    const state = changed({ list: [{ n: 1 }, { n: 2 }] }, (s: { list: { n: number }[] }) => {
      const first = s.list[0]!;
      s.list.unshift({ n: 0 });
      first.n = 7;
      expect(s.list.indexOf(first)).toBe(1);
      expect(s.list.includes(first)).toBe(true);
    });
    expect(state).toEqual({ list: [{ n: 0 }, { n: 7 }, { n: 2 }] });
  });

  it('accept a returned state, even with swapped parts', () => {
    type AB = { a: { n: number }; b: { n: number }; c?: number };
    expect(changed({ a: { n: 1 }, b: { n: 2 }, c: 3 }, (s: AB) => ({ a: s.b, b: s.a }))).toEqual({
      a: { n: 2 },
      b: { n: 1 },
    });
    expect(changed(0, (n: number) => n + 1)).toBe(1);
    expect(changed([1, 2, 3], (list: number[]) => list.filter((n) => n !== 2))).toEqual([1, 3]);
  });

  it('leave null where an element of an array was deleted, and nothing where a member was', () => {
    const state = changed(
      { list: [{ n: 1 }, 2, 3], object: { a: 1, b: { c: 2 } } },
      (s: { list: unknown[]; object: Any }) => {
        delete s.list[0];
        delete s.list[1];
        delete s.object.b;
        delete s.object.missing;
      },
    );
    expect(state).toEqual({ list: [null, null, 3], object: { a: 1 } });
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    expect(Object.hasOwn((state as { list: unknown[] }).list, 0)).toBe(true);
  });

  it('find elements of arrays by the element itself, and by any value that is not an object', () => {
    const found: unknown[] = [];
    changed({ list: [{ n: 1 }, 'text', null, 5] }, (s: { list: unknown[] }) => {
      found.push(...[s.list[0], 'text', null, 5, undefined, { n: 1 }].map((it) => s.list.indexOf(it)));
      s.list.push('text', null);
      found.push(s.list.lastIndexOf('text'), s.list.includes(null));
    });
    expect(found).toEqual([0, 1, 2, 3, -1, -1, 4, true]);
  });

  it('omit members that were added and removed again', () => {
    const object = changed({}, (s: Any) => {
      s.part = { n: 1 };
      delete s.part;
    });
    expect(Object.keys(object as object)).toEqual([]);
    const list = changed([1], (s: unknown[]) => {
      s.push({ n: 1 });
      s.pop();
    });
    expect(Object.keys(list as object)).toEqual(['0']);
  });

  it('reject values that are not JSON or not a state', () => {
    for (const bad of [new Date(), new Map(), Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, Symbol('s')]) {
      expect(() => changed({}, (s: Any) => void Object.assign(s, { bad }))).toThrow(TypeError);
      expect(() => changed({ list: [] }, (s: { list: unknown[] }) => void s.list.push(bad))).toThrow(TypeError);
      expect(() => changed({}, () => ({ deep: [bad] }))).toThrow(TypeError);
    }
    expect(() => changed({ list: [] }, (s: { list: unknown[] }) => s.list.push(1))).toThrow(/not a number/);
    expect(() => changed({ list: [] }, (s: { list: unknown[] }) => void s.list.push(undefined))).toThrow(TypeError);
    expect(() =>
      changed({ list: [] }, (s: { list: unknown[] }) => {
        s.list[3] = 1;
      }),
    ).toThrow(TypeError);
    expect(() => changed({}, (s: Any) => void Object.assign(s, { [Symbol('s')]: 1 }))).toThrow(/no symbols/);
    expect(() => changed({}, async () => ({}))).toThrow(/asynchronous/);
    expect(() =>
      changed({}, (s: Any) => {
        (s.self as unknown) = s;
      }),
    ).toThrow(/nested/);
  });

  it('treat names such as __proto__ and constructor as plain members', () => {
    const state = changed(JSON.parse('{"__proto__":{"n":1}}'), (s: Any) => {
      (Reflect.get(s, '__proto__') as Any).n = 2;
      Object.assign(s, { constructor: { n: 3 } });
    });
    expect(JSON.stringify(state)).toBe('{"__proto__":{"n":2},"constructor":{"n":3}}');
    expect(({} as Any).n).toBeUndefined();
  });

  it('report the last write of each path', () => {
    expect(
      blamed(
        { n: 0, kept: 'k', list: [] as { v: number }[] },
        (s: { list: unknown[] }) => void s.list.push({ v: 1 }, { v: 2 }),
        (s: { list: { v: number }[] }) => {
          s.list[1]!.v = 3;
        },
        (s: { n: number }) => ({ ...s, n: 1 }),
        (s: Any) => void Object.assign(s, { 'a/b~c': { deep: {} } }),
      ),
    ).toEqual({ '/n': 3, '/kept': 0, '/list/0/v': 1, '/list/1/v': 2, '/a~1b~0c/deep': 4 });
  });

  it('report moves and removals', () => {
    expect(
      blamed(
        { list: [3, 1, 2], gone: { a: 1 }, tail: [1, 2] },
        (s: { list: number[] }) => void s.list.sort(),
        (s: { list: number[] }) => void s.list.splice(1, 1),
        (s: { gone: Any }) => void delete s.gone.a,
        (s: { tail: number[] }) => {
          s.tail.length = 0;
        },
      ),
    ).toEqual({ '/list/0': 1, '/list/1': 2, '/gone': 3, '/tail': 4 });
  });

  const index = fc.nat(6);
  const value = fc.oneof(
    fc.nat(9),
    fc.constant(null),
    fc.record({ v: fc.nat(9) }),
    fc.array(fc.nat(3), { maxLength: 2 }),
  );
  const step = fc.oneof(
    fc.tuple(fc.constantFrom('push', 'unshift', 'pop', 'shift', 'reverse', 'sort'), value, index),
    fc.tuple(fc.constantFrom('splice', 'set', 'member', 'remove', 'alias', 'nest', 'return'), value, index),
  );
  type Model = { list: unknown[]; by: Record<string, unknown> };

  function take(state: Model, [what, value, at]: [string, unknown, number]): unknown {
    const { list, by } = state;
    const own = structuredClone(value);
    const key = `k${at % 3}`;
    if (what === 'push' || what === 'unshift') list[what](own);
    else if (what === 'pop' || what === 'shift' || what === 'reverse') list[what]();
    else if (what === 'sort') list.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    else if (what === 'splice') list.splice(at, 1, own, own);
    else if (what === 'set') list[Math.min(at, list.length)] = own;
    else if (what === 'member') by[key] = own;
    else if (what === 'remove') delete by[key];
    else if (what === 'alias') by[key] = list[at] ?? null;
    else if (what === 'nest' && typeof list[at] === 'object' && list[at] !== null)
      Object.assign(list[at], Array.isArray(list[at]) ? [7] : { v: 7, w: own });
    else if (what === 'return') return { by: { ...by, [key]: list[at] ?? 1 }, list: list.slice(0, at) };
    return undefined;
  }

  it('produce the same state as plain objects that are stored and read after each change', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        let plain: Model = { list: [], by: {} };
        const draft = new Draft(plain);
        for (const it of steps) {
          plain = JSON.parse(JSON.stringify(take(plain, it) ?? plain));
          draft.apply((state) => take(state as Model, it));
          expect(draft.holder.state).toEqual(plain);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('report every change', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const tracker = new WriteTracker();
        const draft = new Draft({ list: [], by: {} }, tracker.record);
        let before = leavesOf(draft.holder.state);
        for (const it of steps) {
          tracker.seq++;
          draft.apply((state) => take(state as Model, it));
          const [blame, after] = [tracker.blame(draft), leavesOf(draft.holder.state)];
          expect(Object.keys(blame).sort()).toEqual(Object.keys(after).sort());
          for (const path of Object.keys(after))
            if (before[path] !== after[path]) expect([path, blame[path]]).toEqual([path, tracker.seq]);
          before = after;
        }
      }),
      { numRuns: 300 },
    );
  });
});

function leavesOf(value: unknown, path = '', leaves: Record<string, string> = {}): Record<string, string> {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
    leaves[path] = JSON.stringify(value);
  else for (const [key, member] of Object.entries(value)) leavesOf(member, `${path}/${key}`, leaves);
  return leaves;
}
