/** Pause tokens. They are secrets, so they travel in bodies only, and whatever consumes one is a POST. */
import type { JsonObject } from '@tidemark/core/portable';
import Type from 'typebox';
import { ClaimPause, LoadPause, PauseClaim, PauseInfo, PeekPause, SavePause, SettlePause } from '../schemas/agents.ts';
import { Id, jsonOf, pageOf, pageQuery } from '../schemas/common.ts';
import { routes } from './route.ts';

export const PAUSE_ROUTES = routes({
  'GET /v1/pauses': {
    scope: 'agents:read',
    summary: 'Pauses that have not expired, without what they hold',
    query: pageQuery({ sessionId: Type.Optional(Id) }),
    answers: { 200: pageOf(PauseInfo) },
  },
  'POST /v1/pauses': {
    scope: 'agents:write',
    summary: 'Save what a pause holds',
    body: SavePause,
    storeChecksBody: true,
    answers: { 204: null },
    problems: ['TOKEN_CONSUMED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/load': {
    scope: 'agents:write',
    summary: 'What a pause holds, once; {} for a missing, expired or consumed one',
    body: LoadPause,
    answers: { 200: jsonOf<JsonObject>() },
    problems: ['CODEC_FAILED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/claim': {
    scope: 'agents:write',
    summary: 'Take a pause for a while; null when there is nothing to take',
    body: ClaimPause,
    answers: { 200: PauseClaim },
    problems: ['CODEC_FAILED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/confirm': {
    scope: 'agents:write',
    summary: 'Consume a claimed pause for good',
    body: SettlePause,
    answers: { 204: null },
    problems: ['CLAIM_LOST', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/release': {
    scope: 'agents:write',
    summary: 'Give a claimed pause back',
    body: SettlePause,
    answers: { 204: null },
    problems: ['CLAIM_LOST', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/pauses/peek': {
    scope: 'agents:read',
    summary: 'Look at a pause without consuming it',
    body: PeekPause,
    answers: { 200: PauseInfo },
    problems: ['NOT_FOUND'],
  },
});
