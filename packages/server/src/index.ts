/** The HTTP server of Tidemark. */
export { ApiKeys, type CreatedApiKey, type KeyChange, type NewApiKey } from './auth/api-keys.ts';
export { type BearerOptions, bearer } from './auth/bearer.ts';
export { bootstrapKey, mintBootstrapKey } from './auth/bootstrap.ts';
export type { JwtOptions } from './auth/jwt.ts';
export type { ApiKeyInfo } from './auth/key-record.ts';
export { type RouteScope, SCOPES, type Scope } from './auth/scopes.ts';
export { SYSTEM_TENANT } from './auth/system-tenant.ts';
export {
  type Authenticator,
  type AuthRefusal,
  anonymous,
  type Credential,
  type Principal,
} from './auth.ts';
export { openApiDocument } from './document.ts';
export { type CallerLimits, DEFAULT_LIMITS, type Limits, type SomeLimits } from './limits.ts';
export { type LogEntry, type Logger, stderrLogger } from './logger.ts';
export { createServer, type ServerOptions, type TidemarkServer } from './server.ts';
export type { ServerTls } from './tls.ts';
