/** The races on engines without a server. */
import { EMBEDDED, registerRaces } from './races.ts';

registerRaces(EMBEDDED);
