/** Pause tokens. They are secrets, so they travel in bodies only, and whatever consumes one is a POST. */
import type { Duration, JsonObject } from '@tidemark/core';
import Type from 'typebox';
import { json, NOTHING } from '../../http/answer.ts';
import { Refusal } from '../../http/refusal.ts';
import {
  ClaimPause,
  LoadPause,
  PauseClaim,
  PauseInfo,
  PeekPause,
  SavePause,
  SettlePause,
} from '../../schemas/agents.ts';
import { Id, Json, pageOf, pageQuery } from '../../schemas/common.ts';
import { route } from '../route.ts';

interface SavedPause {
  token: string;
  payload: JsonObject;
  ttl?: Duration;
  sessionId?: string;
  taskId?: string;
}

export const PAUSE_ROUTES = [
  route<{ sessionId?: string; cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/pauses',
      scope: 'agents:read',
      summary: 'Pauses that have not expired, without what they hold',
      query: pageQuery({ sessionId: Type.Optional(Id) }),
      answers: { 200: pageOf(PauseInfo) },
    },
    async ({ store, query, options }) => {
      const { sessionId, cursor, limit } = query;
      return json(await store.agents.listPauses({ ...options, sessionId, cursor, limit }));
    },
  ),
  route<unknown, SavedPause>(
    {
      method: 'POST',
      path: '/v1/pauses',
      scope: 'agents:write',
      summary: 'Save what a pause holds',
      body: SavePause,
      storeChecksBody: true,
      answers: { 204: null },
      problems: ['TOKEN_CONSUMED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      const { token, payload, ttl, sessionId, taskId } = body;
      await store.agents.savePlannerState(token, payload, { ...options, ttl, sessionId, taskId });
      return NOTHING;
    },
  ),
  route<unknown, { token: string; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/pauses/load',
      scope: 'agents:write',
      summary: 'What a pause holds, once; {} for a missing, expired or consumed one',
      body: LoadPause,
      answers: { 200: Json },
      problems: ['CODEC_FAILED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      const { token, requestId } = body;
      return json(await store.agents.loadPlannerState(token, { ...options, requestId }));
    },
  ),
  route<unknown, { token: string; lease?: Duration; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/pauses/claim',
      scope: 'agents:write',
      summary: 'Take a pause for a while; null when there is nothing to take',
      body: ClaimPause,
      answers: { 200: PauseClaim },
      problems: ['CODEC_FAILED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      const { token, lease, requestId } = body;
      return json({ claim: await store.agents.claimPlannerState(token, { ...options, lease, requestId }) });
    },
  ),
  route<unknown, { token: string; claimId: string }>(
    {
      method: 'POST',
      path: '/v1/pauses/confirm',
      scope: 'agents:write',
      summary: 'Consume a claimed pause for good',
      body: SettlePause,
      answers: { 204: null },
      problems: ['CLAIM_LOST', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      await store.agents.confirmPlannerState(body.token, body.claimId, options);
      return NOTHING;
    },
  ),
  route<unknown, { token: string; claimId: string }>(
    {
      method: 'POST',
      path: '/v1/pauses/release',
      scope: 'agents:write',
      summary: 'Give a claimed pause back',
      body: SettlePause,
      answers: { 204: null },
      problems: ['CLAIM_LOST', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      await store.agents.releasePlannerState(body.token, body.claimId, options);
      return NOTHING;
    },
  ),
  route<unknown, { token: string }>(
    {
      method: 'POST',
      path: '/v1/pauses/peek',
      scope: 'agents:read',
      summary: 'Look at a pause without consuming it',
      body: PeekPause,
      answers: { 200: PauseInfo },
      problems: ['NOT_FOUND'],
    },
    async ({ store, body, options }) => {
      const pause = await store.agents.peekPlannerState(body.token, options);
      if (pause) return json(pause);
      throw new Refusal(404, 'NOT_FOUND', 'There is no such pause, or it has expired');
    },
  ),
];
