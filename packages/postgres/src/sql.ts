/** Translates shared SQL for PostgreSQL: `@name` becomes a name in the store's schema, `?` a numbered parameter. */
export class Dialect {
  readonly schema: string;
  readonly #translated = new Map<string, string>();
  readonly #scripts = new Map<string, string>();

  constructor(schema: string) {
    this.schema = schema;
  }

  /** Qualifies a name with the store's schema. */
  name(name: string): string {
    return `"${this.schema}".${name}`;
  }

  /** Translates a statement with parameters. */
  statement(sql: string): string {
    let text = this.#translated.get(sql);
    if (text === undefined) {
      let index = 0;
      text = this.script(sql).replaceAll('?', () => `$${++index}`);
      this.#translated.set(sql, text);
    }
    return text;
  }

  /** Translates a script without parameters, or with numbered ones. */
  script(sql: string): string {
    return sql.replaceAll(/@(?=[a-z_])(\w+)/g, (_, name: string) => this.name(name));
  }

  /** Like `script`, for a statement that runs often. */
  numbered(sql: string): string {
    let text = this.#scripts.get(sql);
    if (text === undefined) {
      text = this.script(sql);
      this.#scripts.set(sql, text);
    }
    return text;
  }
}
