/** Events of all runs: appends to several runs at once, and the feed. */
import Type from 'typebox';
import { EVENT_STREAM, LINES } from '../media-types.ts';
import { EMPTY_LIST, wordOf } from '../schemas/common.ts';
import { AppendResult, FeedPage, RunEvent } from '../schemas/runs.ts';
import { APPEND_PARAMETERS, APPEND_PROBLEMS, LIVE_PARAMETERS, TENANT_ID } from './parameters.ts';
import { routes } from './route.ts';

export const FEED_ROUTES = routes({
  'POST /v1/events': {
    scope: 'runs:write',
    summary: 'Append events to the runs they name: one, several, or one per line with a result for each',
    query: Type.Object(APPEND_PARAMETERS),
    body: Type.Union([RunEvent, Type.Array(RunEvent)]),
    storeChecksBody: true,
    reads: [LINES],
    answers: { 201: AppendResult, 200: Type.Union([AppendResult, Type.Object({ items: Type.Array(AppendResult) })]) },
    problems: APPEND_PROBLEMS,
  },
  'GET /v1/events': {
    scope: 'runs:read',
    summary: 'Read the events of all runs in the order they were stored: a page, or live',
    query: Type.Object({
      ...TENANT_ID,
      ...LIVE_PARAMETERS,
      cursor: Type.Optional(Type.String({ description: 'The cursor of the last event read' })),
      limit: Type.Optional(Type.Integer()),
      eventType: Type.Optional(Type.Array(Type.String(), { description: `Only these types. ${EMPTY_LIST}` })),
      unreadable: Type.Optional(
        wordOf<'skip'>('skip: pass over events that cannot be decoded, instead of CODEC_FAILED'),
      ),
      notices: Type.Optional(Type.Boolean({ description: 'true: notices between the events as well' })),
    }),
    answers: { 200: FeedPage },
    produces: [EVENT_STREAM],
    problems: ['UNSUPPORTED', 'CORRUPT_EVENT', 'CODEC_FAILED'],
  },
});
