/** The OpenAPI document of all routes, also available without a server. */
import { openApiOf } from './openapi.ts';
import { ROUTES } from './routes/index.ts';

export function openApiDocument(): object {
  return openApiOf(ROUTES);
}
