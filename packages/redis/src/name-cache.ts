/**
 * Caches values that are computed from names, such as keys. Names that are soon used again, like those of jobs, stay in
 * the cache; of all others, half are dropped at a time.
 */

/** The maximum number of names in each half. */
const MAX_NAMES = 4_096;

export class NameCache<Space extends string, Value> {
  readonly #make: (space: Space, tenantId: string, name: string) => Value;
  /** The used half and the older half, for each space and tenant. */
  #recent = new Map<string, Map<string, Value>>();
  #older = new Map<string, Map<string, Value>>();
  #size = 0;
  /** The names of the last space and tenant, since most calls of a process use the same. */
  #last: Map<string, Value> | null = null;
  #lastSpace = '';
  #lastTenantId = '';

  constructor(make: (space: Space, tenantId: string, name: string) => Value) {
    this.#make = make;
  }

  get(space: Space, tenantId: string, name: string): Value {
    const names =
      this.#last && space === this.#lastSpace && tenantId === this.#lastTenantId
        ? this.#last
        : this.#namesOf(space, tenantId);
    return names.get(name) ?? this.#add(names, space, tenantId, name);
  }

  #namesOf(space: Space, tenantId: string): Map<string, Value> {
    const scope = `${space}\0${tenantId}`;
    const names = this.#recent.get(scope) ?? new Map<string, Value>();
    this.#recent.set(scope, names);
    this.#lastSpace = space;
    this.#lastTenantId = tenantId;
    this.#last = names;
    return names;
  }

  #add(names: Map<string, Value>, space: Space, tenantId: string, name: string): Value {
    const value = this.#older.get(`${space}\0${tenantId}`)?.get(name) ?? this.#make(space, tenantId, name);
    names.set(name, value);
    if (++this.#size >= MAX_NAMES) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#last = null;
      this.#size = 0;
    }
    return value;
  }
}
