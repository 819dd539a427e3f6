/**
 * Remote workers by trace and by the session of their router (AGT-3, AGT-13): one binding per (trace, optional context,
 * task), and the last save wins. Ids that engines look up are columns; the other members are one encoded document.
 */
import { checkJsonObject, encodeJsonMembers } from '../checks/json.ts';
import { checkId, checkObject, checkOptionalBoolean, checkOptionalId, checkText } from '../checks/text.ts';
import type { BindingCapability, BindingKey, BindingQuery, RemoteBinding } from '../contracts/agents.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { BindingEngine, BindingRow } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { collectPages } from '../tools/paging.ts';

const MAX_URL_BYTES = 8_192;
const DETAIL_IDS = ['remoteSkill', 'tenantId', 'userId', 'lastRemoteTaskId'] as const;

type Details = Pick<RemoteBinding, (typeof DETAIL_IDS)[number] | 'metadata'>;

/** Returns the context of a binding's details, for the codec and the checksum. */
function bindingContext(tenantId: string, { traceId, contextId, taskId }: BindingKey): PayloadContext {
  return { tenantId, kind: 'binding', owner: traceId, item: JSON.stringify([contextId, taskId]) };
}

/** Creates the binding capability of one tenant. */
export function createBindings(context: StoreContext, engine: BindingEngine, tenantId: string): BindingCapability {
  const rowOf = (binding: RemoteBinding): BindingRow => {
    checkObject(binding, 'binding');
    const key = checkKey(binding);
    const row = {
      ...key,
      agentUrl: checkUrl(binding.agentUrl),
      routerSessionId: checkOptionalId(binding.routerSessionId, 'routerSessionId'),
      isTerminal: checkTerminal(binding.isTerminal),
    };
    const details = encodeDetails(binding, context.limits.documentBytes);
    return {
      ...row,
      details: details === null ? null : context.payloads.encode(details, bindingContext(tenantId, key)),
    };
  };

  const bindingOf = ({ traceId, contextId, taskId, agentUrl, ...row }: BindingRow): RemoteBinding => {
    const key = { traceId, contextId, taskId };
    const details =
      row.details === null ? {} : context.payloads.decode<Details>(row.details, bindingContext(tenantId, key));
    return {
      ...key,
      agentUrl,
      ...(row.routerSessionId !== null && { routerSessionId: row.routerSessionId }),
      ...(row.isTerminal !== null && { isTerminal: row.isTerminal }),
      ...details,
    };
  };

  return {
    async saveRemoteBinding(binding, options) {
      const row = rowOf(binding);
      const write = context.writeOf('agents', 'saveRemoteBinding', [binding, options]);
      await context.write(options, write, (call) => engine.save(tenantId, row, call));
    },

    async listRemoteBindings(traceId, options) {
      checkId(traceId, 'traceId');
      const rows = await context.read(options, (call) => engine.list(tenantId, traceId, call));
      return rows.map(bindingOf);
    },

    async findBinding(query, options) {
      const wanted = checkQuery(query);
      return context.read(options, async (call) => {
        for await (const page of engine.readSession(tenantId, wanted.routerSessionId, call)) {
          for (const row of page) {
            if (row.isTerminal === true || row.agentUrl !== wanted.agentUrl) continue;
            const binding = bindingOf(row);
            if (isMatch(binding, wanted)) return binding;
          }
        }
        return null;
      });
    },

    async listBindings(sessionId, options) {
      checkId(sessionId, 'sessionId');
      const rows = await context.read(options, (call) => collectPages(engine.readSession(tenantId, sessionId, call)));
      return rows.map(bindingOf);
    },

    async markBindingTerminal(binding, options) {
      checkObject(binding, 'binding');
      const key = checkKey(binding);
      const write = context.writeOf('agents', 'markBindingTerminal', [key, options]);
      return context.write(options, write, (call) => engine.markTerminal(tenantId, key, call));
    },
  };
}

function checkKey({ traceId, contextId, taskId }: BindingKey): BindingKey {
  return {
    traceId: checkId(traceId, 'traceId'),
    contextId: checkOptionalId(contextId, 'contextId'),
    taskId: checkId(taskId, 'taskId'),
  };
}

function checkQuery(query: BindingQuery) {
  checkObject(query, 'query');
  return {
    routerSessionId: checkId(query.routerSessionId, 'routerSessionId'),
    agentUrl: checkUrl(query.agentUrl),
    remoteSkill: checkId(query.remoteSkill, 'remoteSkill'),
    tenantId: checkOptionalId(query.tenantId, 'tenantId'),
    userId: checkOptionalId(query.userId, 'userId'),
  };
}

/**
 * An absent tenant or user in the query matches only a binding without one, because the binding of one user must not
 * serve another.
 */
function isMatch(binding: RemoteBinding, { remoteSkill, tenantId, userId }: ReturnType<typeof checkQuery>): boolean {
  return (
    binding.remoteSkill === remoteSkill &&
    (binding.tenantId ?? null) === tenantId &&
    (binding.userId ?? null) === userId
  );
}

function checkUrl(value: unknown): string {
  const agentUrl = checkText(value, 'agentUrl', MAX_URL_BYTES);
  if (agentUrl === '') throw invalidArgument('agentUrl', 'a non-empty text', agentUrl);
  return agentUrl;
}

function checkTerminal(value: unknown): boolean | null {
  return value === undefined || value === null ? null : checkOptionalBoolean(value, 'isTerminal');
}

/** Returns the JSON text of the members that no engine looks up, or `null` if they are all absent. */
function encodeDetails(binding: RemoteBinding, maxBytes: number): string | null {
  const details: Record<string, unknown> = {};
  for (const name of DETAIL_IDS) {
    const id = checkOptionalId(binding[name], name);
    if (id !== null) details[name] = id;
  }
  const { metadata } = binding;
  if (metadata !== undefined) details.metadata = checkJsonObject(metadata, 'metadata');
  return Object.keys(details).length === 0 ? null : encodeJsonMembers(details, 'binding', maxBytes);
}
