/** Remote workers by trace: one binding per (trace, optional context, task); the last save wins (AGT-3). */
import { checkId, checkObject, checkOptionalId, checkText } from '../checks/text.ts';
import type { BindingCapability, RemoteBinding } from '../contracts/agents.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { BindingEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';

const MAX_URL_BYTES = 8_192;

/** Creates the binding capability of one tenant. */
export function createBindings(context: StoreContext, engine: BindingEngine, tenantId: string): BindingCapability {
  return {
    async saveRemoteBinding(binding, options) {
      const checked = checkBinding(binding);
      const write = context.writeOf('agents', 'saveRemoteBinding', [checked, options]);
      await context.write(options, write, (call) => engine.save(tenantId, checked, call));
    },

    async listRemoteBindings(traceId, options) {
      checkId(traceId, 'traceId');
      return context.read(options, (call) => engine.list(tenantId, traceId, call));
    },
  };
}

function checkBinding(binding: RemoteBinding): RemoteBinding {
  checkObject(binding, 'binding');
  const agentUrl = checkText(binding.agentUrl, 'agentUrl', MAX_URL_BYTES);
  if (agentUrl === '') throw invalidArgument('agentUrl', 'a non-empty text', agentUrl);
  return {
    traceId: checkId(binding.traceId, 'traceId'),
    contextId: checkOptionalId(binding.contextId, 'contextId'),
    taskId: checkId(binding.taskId, 'taskId'),
    agentUrl,
  };
}
