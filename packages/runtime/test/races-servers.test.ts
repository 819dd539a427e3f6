/**
 * The races on engines with a server. On DynamoDB's emulator every step is an HTTP request: `npm run soak` runs the races
 * there.
 */
import { ENGINES } from '../../../faults/races/engines.ts';
import { EMBEDDED, registerRaces } from './races.ts';

registerRaces(ENGINES.filter((it) => !EMBEDDED.includes(it) && it !== 'dynamodb'));
