/** Several live reads over one connection, for pages that watch many things. */
import Type from 'typebox';
import { EVENT_STREAM } from '../media-types.ts';
import { routes } from './route.ts';

/** How topics are named. */
export const TOPICS_RULE = 'runs, events, runs/{run}, kv/{prefix} or sessions/{session}, with ids encoded as in paths';

export const STREAM_ROUTES = routes({
  'GET /v1/stream': {
    scope: 'store:read',
    summary: 'Live: several topics over one connection, resumed after Last-Event-ID',
    query: Type.Object({
      topics: Type.String({ description: `Separated by commas: ${TOPICS_RULE}` }),
      lastEventId: Type.Optional(Type.String()),
    }),
    answers: { 200: null },
    gives: [EVENT_STREAM],
  },
});
