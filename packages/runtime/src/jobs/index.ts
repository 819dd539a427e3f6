/** Jobs: workers that run them, the sweeper that recovers stuck jobs, and the signals between workers and sweepers. */
export { type InProcessPublisher, inProcessPublisher } from './publishers/in-process.ts';
export { type NatsConnectionLike, natsPublisher } from './publishers/nats.ts';
export { type RedisClientLike, redisStreamsPublisher } from './publishers/redis-streams.ts';
export { type JobSignal, type Publish, type SignalKind, subjectOf } from './signals.ts';
export type { SweepCounts, SweepReport } from './sweep-report.ts';
export { createSweeper, type Sweeper, type SweeperOptions, type Thresholds } from './sweeper.ts';
export { createWorker, type JobContext, type JobResult, type Worker, type WorkerOptions } from './worker.ts';
