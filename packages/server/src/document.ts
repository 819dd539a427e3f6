/** The OpenAPI document of the routes there are, also for those who want it without a server. */
import { openApiOf } from './openapi.ts';
import { ROUTES } from './routes/index.ts';

export function openApiDocument(): object {
  return openApiOf(ROUTES);
}
