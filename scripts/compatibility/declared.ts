/**
 * Cases of the kit that cannot pass between versions, each with its reason. The kit is that of today: it has cases for calls
 * that older versions do not have, and for behaviour that was changed on purpose since.
 */

export const OLD_CLIENT_NEW_SERVER: Readonly<Record<string, string>> = {
  'general/admin-lists-removed-runs': '0.1 has no admin.listRemovedRuns',
  'general/admin-lists-artifacts': '0.1 has no admin.listArtifacts',
  'general/admin-artifact-lists-stay-in-the-view': '0.1 has no admin.listArtifacts',
  'general/admin-counts-artifacts': '0.1 has no admin.artifactTotals',
  'artifacts/parts-come-back': '0.1 reads only whole artifacts',
  'artifacts/parts-keep-to-their-scope': '0.1 reads only whole artifacts',
  'runs/full-refresh-starts-over': '0.1 does not send the option full of refreshSnapshot',
  'runs/export-has-the-whole-run': '0.1 has no runs.position',
  'runs/restored-payloads-can-be-read':
    '0.1 does not send keepEncoded, without which payloads that cannot be decoded are refused now',
  'runs/position-tells-of-changes': '0.1 has no runs.position',
  'runs/archive-only-what-was-redacted': '0.1 does not send the rewrites of the copy to archiveRun',
  'runs/redaction-reaches-projections': '0.1 has no runs.position',
  'kv/deletes-and-touches-are-requests': '0.1 sends no request ids with delete and touch',
  'jobs/cancelled-once-for-a-request': '0.1 sends no request id with cancel',
  'agents/memory/requests-outlive-the-state': '0.1 sends no request id with deleteMemoryState',
};

export const NEW_CLIENT_OLD_SERVER: Readonly<Record<string, string>> = {
  'general/admin-carries-consumed-pauses': '0.1 carries no consumed pauses',
  'general/admin-lists-removed-runs': '0.1 has no route for it',
  'general/admin-lists-artifacts': '0.1 has no route for it',
  'general/admin-artifact-lists-stay-in-the-view': '0.1 has no route for it',
  'general/admin-counts-artifacts': '0.1 has no route for it',
  'general/erased-sessions-leave-a-mark': '0.1 leaves no mark of an erased session',
  'runs/batch-partly-refused-is-unknown': '0.1 calls a batch that was partly written rejected',
  'runs/verify-compares-the-snapshot': '0.1 does not compare snapshots',
  'runs/full-refresh-starts-over': '0.1 does not know the parameter full',
  'runs/export-has-the-whole-run': '0.1 does not count rewrites',
  'runs/restored-run-is-the-same': '0.1 does not count rewrites',
  'runs/restored-payloads-obey-the-limit': '0.1 does not check payloads that are restored',
  'runs/restored-times-are-past': '0.1 does not check times that are restored',
  'runs/restored-payloads-can-be-read': '0.1 does not check payloads that are restored',
  'runs/position-tells-of-changes': '0.1 does not count rewrites',
  'runs/archive-only-what-was-redacted': '0.1 does not compare the rewrites of the copy',
  'runs/redaction-reaches-projections': '0.1 does not count rewrites, by which projections notice a redaction',
  'kv/requests-outlive-a-delete': '0.1 keeps request ids in the record, and forgets them with it',
  'kv/requests-outlive-expiry': '0.1 keeps request ids in the record, and forgets them with it',
  'kv/deletes-and-touches-are-requests': '0.1 takes no request ids with delete and touch',
  'kv/many-requests-of-one-key': '0.1 remembers the last sixteen request ids of a record',
  'kv/request-ids-are-exact': '0.1 keeps request ids in the record, and forgets them with it',
  'jobs/counts-of-any-size': '0.1 reads counts of 2^53-1 as absent',
  'jobs/claim-retried-after-the-end': '0.1 does not return a job that has ended to a claim that is retried',
  'jobs/claim-retried-at-once': '0.1 may claim twice when two retries arrive at once',
  'jobs/cancelled-once-for-a-request': '0.1 takes no request id with cancel',
  'jobs/recovery-of-an-ended-job-is-missed': '0.1 refuses it with INVALID_ARGUMENT',
  'agents/pauses/retried-after-expiry': '0.1 forgets a load when the pause expires',
  'agents/memory/versions-go-on-after-a-delete': '0.1 begins with version 1 again after a delete',
  'agents/memory/versions-beside-deletes': '0.1 begins with version 1 again after a delete',
  'agents/memory/requests-outlive-the-state': '0.1 keeps request ids in the record, and forgets them with it',
  'agents/memory/many-requests-of-one-key': '0.1 remembers the last sixteen request ids of a state',
  'model/runs': '0.1 does not count invalid events in snapshots',
};
