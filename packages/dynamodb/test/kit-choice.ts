/**
 * The part of the conformance kit that `npm test` runs on DynamoDB: the cases that depend on how this engine stores data.
 * Every call is an HTTP request, so the whole kit takes too long there; `npm run test:matrix -- DynamoDB` runs it.
 */
import type { ConformanceCase } from '@tidemark/conformance';

const CHOSEN: readonly RegExp[] = [
  /^kv\/(put-|delete-|null-|if-exists|revision|ttl|field-writes|compare|swap|retried|requests-|batch-|scan-forward|keys-|watch)/,
  /^jobs\/(claim|expired|plain)/,
  /^model\//,
  /^runs\/(append|duplicate|concurren|feed|redact|removed|deletion|restored-|restore-is|other-history|keys|batch|list-pages)/,
  /^(admin|tenants)\//,
  /^artifacts\/(bytes|parts-come|swept|erasure)/,
  // One of them erases repeatedly while others write, which takes a minute.
  /^general\/(?!moved-bindings)/,
];

/** Whether `npm test` runs a case on DynamoDB. */
export function isChosen({ id }: ConformanceCase): boolean {
  return CHOSEN.some((pattern) => pattern.test(id));
}
