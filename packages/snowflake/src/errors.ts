/** Translates refusals of Snowflake into errors that name the remedy. */
import { TidemarkError } from '@tidemark/core';
import type { Account } from './options.ts';

/** The description of a refused statement. */
export interface Refusal {
  code?: string;
  sqlState?: string;
  message?: string;
}

/** Thrown when Snowflake refused a statement. */
export class StatementFailed extends TidemarkError {
  /** The code of Snowflake, such as `002003`. */
  readonly snowflakeCode: string | null;
  readonly sqlState: string | null;

  constructor(message: string, { code, sqlState }: Refusal) {
    super('STORAGE_ERROR', message);
    this.snowflakeCode = code ?? null;
    this.sqlState = sqlState ?? null;
  }

  /** Whether a value in the data was refused, so that other data may be accepted. */
  get isAboutData(): boolean {
    return this.sqlState?.startsWith('22') === true;
  }

  /** Whether an object does not exist, or the role may not use it. */
  get isAboutMissing(): boolean {
    return this.snowflakeCode !== null && MISSING.has(this.snowflakeCode);
  }
}

/** The codes of a missing object or a missing privilege, which Snowflake does not distinguish. */
const MISSING = new Set(['002003', '003001', '002043']);
const NO_WAREHOUSE = new Set(['000606', '000605']);

export function errorOf(status: number, refusal: Refusal, account: Account): TidemarkError {
  const { code = '', message = `HTTP ${status}` } = refusal;
  const said = `${message.trim()}${code === '' ? '' : ` (${code})`}`;
  if (status === 401 || status === 403)
    return new TidemarkError(
      'UNAUTHENTICATED',
      `Snowflake rejected the key: ${said}. Compare RSA_PUBLIC_KEY_FP of DESC USER with ${account.keys.fingerprint}, check account and user, and check this machine's clock`,
    );
  if (MISSING.has(code))
    return new StatementFailed(
      `Snowflake rejected a statement: ${said}. Create the tables with \`tidemark sink migrate\`, and grant the role what \`tidemark sink plan\` prints`,
      refusal,
    );
  if (NO_WAREHOUSE.has(code))
    return new StatementFailed(`Snowflake has no warehouse for the statement: ${said}. Set \`warehouse\``, refusal);
  return new StatementFailed(`Snowflake rejected a statement: ${said}`, refusal);
}
