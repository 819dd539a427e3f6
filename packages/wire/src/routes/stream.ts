/** Several live reads over one connection. */
import Type from 'typebox';
import { EVENT_STREAM } from '../media-types.ts';
import { routes } from './route.ts';

/** The syntax of topics. */
export const TOPICS_RULE = 'runs, events, runs/{run}, kv/{prefix} or sessions/{session}, with ids encoded as in paths';

export const STREAM_ROUTES = routes({
  'GET /v1/stream': {
    scope: 'store:read',
    summary: 'Read several topics live over one connection, resuming after Last-Event-ID',
    query: Type.Object({
      topics: Type.String({ description: `Separated by commas: ${TOPICS_RULE}` }),
      lastEventId: Type.Optional(Type.String()),
    }),
    answers: { 200: null },
    produces: [EVENT_STREAM],
  },
});
