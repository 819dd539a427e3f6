/** Schemas of artifacts. */
import type * as Contract from '@tidemark/core/portable';
import Type from 'typebox';
import { Duration, Id, Json, OptionalId, shapeOf, Time } from './common.ts';

export const Scope = shapeOf<Contract.ArtifactScope>()(
  { tenantId: OptionalId, userId: OptionalId, sessionId: OptionalId, traceId: OptionalId },
  { title: 'ArtifactScope' },
);
export const ArtifactRef = shapeOf<Contract.ArtifactRef>()(
  {
    id: Id,
    mimeType: Type.Union([Type.String(), Type.Null()]),
    sizeBytes: Type.Integer(),
    filename: Type.Union([Type.String(), Type.Null()]),
    sha256: Type.String(),
    scope: Scope,
    namespace: Type.Union([Type.String(), Type.Null()]),
    source: Json,
    createdAt: Time,
    expiresAt: Type.Union([Time, Type.Null()]),
  },
  { title: 'ArtifactRef' },
);
export const Sweep = Type.Object({ grace: Type.Optional(Duration) });
export const SweepResult = Type.Object({ references: Type.Integer(), blobs: Type.Integer(), bytes: Type.Integer() });
