/** The OpenAPI document of all routes, also available without a server. */
import { openApiOf } from './openapi.ts';
import { ROUTES } from './routes/index.ts';

/**
 * Returns the OpenAPI document that a server has at `/openapi.json`.
 *
 * @example
 * console.log(Object.keys(openApiDocument()).includes('paths')); // true
 */
export function openApiDocument(): object {
  return openApiOf(ROUTES);
}
