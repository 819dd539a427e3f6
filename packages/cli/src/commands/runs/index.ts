/** All commands about runs. */
import { runEventCommands } from './events.ts';
import { runListCommands } from './list.ts';
import { runTransferCommands } from './transfer.ts';
import { wait } from './wait.ts';
import { runWriteCommands } from './write.ts';

export const runCommands = [...runListCommands, ...runEventCommands, wait, ...runWriteCommands, ...runTransferCommands];
