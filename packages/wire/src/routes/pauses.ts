/** Pause tokens are secrets. They are sent only in bodies, so every route that takes a token is a POST. */
import type { JsonObject } from '@tidemark/core/portable';
import Type from 'typebox';
import { ClaimPause, LoadPause, PauseClaim, PauseInfo, PeekPause, SavePause, SettlePause } from '../schemas/agents.ts';
import { Id, jsonOf, pageOf, pageQuery } from '../schemas/common.ts';
import { routes } from './route.ts';

export const PAUSE_ROUTES = routes({
  'GET /v1/pauses': {
    scope: 'agents:read',
    summary: 'List pauses that have not expired, without their content',
    query: pageQuery({ sessionId: Type.Optional(Id) }),
    answers: { 200: pageOf(PauseInfo) },
  },
  'POST /v1/pauses': {
    scope: 'agents:write',
    summary: 'Save a pause',
    body: SavePause,
    storeChecksBody: true,
    answers: { 204: null },
    problems: ['TOKEN_CONSUMED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/load': {
    scope: 'agents:write',
    summary: 'Consume a pause and return its content, once; {} if it is missing, expired or consumed',
    body: LoadPause,
    answers: { 200: jsonOf<JsonObject>() },
    problems: ['CODEC_FAILED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/claim': {
    scope: 'agents:write',
    summary: 'Claim a pause for a limited time; null if there is nothing to claim',
    body: ClaimPause,
    answers: { 200: PauseClaim },
    problems: ['CODEC_FAILED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/confirm': {
    scope: 'agents:write',
    summary: 'Consume a claimed pause',
    body: SettlePause,
    answers: { 204: null },
    problems: ['CLAIM_LOST', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/release': {
    scope: 'agents:write',
    summary: 'Release a claimed pause',
    body: SettlePause,
    answers: { 204: null },
    problems: ['CLAIM_LOST', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/peek': {
    scope: 'agents:read',
    summary: 'Get a pause without consuming it',
    body: PeekPause,
    answers: { 200: PauseInfo },
    problems: ['NOT_FOUND'],
  },
});
