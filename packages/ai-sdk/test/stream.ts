/** Constants of the tests and of the processes that they start. */

export const STREAM = 'chat-7';
export const PRODUCER_TIMEOUT_MS = 1_500;
