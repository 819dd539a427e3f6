/** Refusals by the HTTP layer, which happen before any store call. A refusal is an error with its own status. */
import { type ErrorCode, type ErrorDetails, TidemarkError } from '@tidemark/core';

export class Refusal extends Error {
  readonly status: number;
  readonly error: TidemarkError;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
    headers: Record<string, string> = {},
  ) {
    super(message);
    this.status = status;
    this.error = new TidemarkError(code, message, details);
    this.headers = headers;
  }
}
