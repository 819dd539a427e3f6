/** `tidemark/contracts`: all types of the contract, and its constants. */
export type * from '@tidemark/core';
export {
  AGENT_PARTS,
  CALLS,
  CAPABILITIES,
  CONTRACT_VERSION,
  ENDED_RUN_STATUSES,
  ERROR_CODES,
  JOB_STATES,
  LISTED_JOB_STATES,
  RUN_STATUSES,
  TENANT_PARTS,
} from '@tidemark/core';
