/** The checks of `doctor`: recovery, deletion protection, expiry, capacity mode, replicas and the clock. */
import type { TableDescription } from '@aws-sdk/client-dynamodb';
import type { DoctorFinding, DoctorReport } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import type { Client, TableKind } from './client.ts';
import { describe, TABLES, TTL_ATTRIBUTE } from './tables.ts';

/**
 * The maximum clock difference. Clocks do not determine any order, but they determine when records expire and leases
 * end.
 */
const MAX_SKEW_MS = 1_000;

type Examination = Omit<DoctorReport, 'backend' | 'ok'>;

export async function examine(client: Client, _call: EngineCall): Promise<Examination> {
  const findings: DoctorFinding[] = [];
  for (const kind of TABLES) {
    const table = await describe(client, kind);
    findings.push(...(table ? await examineTable(client, kind, table) : [missing(client, kind)]));
  }
  findings.push(await examineClock(client));
  if (client.isEmulated)
    findings.push({
      check: 'durability',
      status: 'warn',
      message: 'This endpoint is not DynamoDB itself, so what a power failure leaves is unknown',
      fix: 'Use it for development and tests; open dynamodb://region/prefix without an endpoint in production',
    });
  return { durability: client.isEmulated ? 'unknown' : 'node-loss', findings };
}

function missing(client: Client, kind: TableKind): DoctorFinding {
  const message = `The table ${client.table(kind)} does not exist`;
  return { check: 'tables', status: 'fail', message, fix: 'Run `tidemark migrate up`, or create it with a template' };
}

async function examineTable(client: Client, kind: TableKind, table: TableDescription): Promise<DoctorFinding[]> {
  const name = client.table(kind);
  const findings: DoctorFinding[] = [];
  const find = (check: string, isFine: boolean, fine: string, message: string, fix: string) =>
    findings.push(isFine ? { check, status: 'ok', message: fine } : { check, status: 'warn', message, fix });
  if ((table.Replicas ?? []).length > 0)
    findings.push({
      check: 'replicas',
      status: 'fail',
      message: `${name} is a global table: the last writer of two regions wins, which breaks the order of runs`,
      fix: 'Write in one region only, and use the other replicas for reading after a failover',
    });
  // Emulators have neither recovery nor deletion protection.
  if (!client.isEmulated) {
    find(
      'deletion protection',
      table.DeletionProtectionEnabled === true,
      `${name} cannot be deleted by mistake`,
      `${name} can be deleted by mistake`,
      'Enable deletion protection',
    );
    find(
      'recovery',
      await hasRecovery(client, name),
      `${name} can be restored to any second of the last 35 days`,
      `${name} cannot be restored to an earlier state`,
      'Enable point-in-time recovery',
    );
  }
  if (kind === 'records')
    find(
      'expiry',
      await hasExpiry(client, name),
      `DynamoDB removes expired items of ${name}`,
      `Expired and deleted records stay in ${name} for ever, invisible but paid for`,
      `Enable the TTL of ${name} with the attribute ${TTL_ATTRIBUTE}`,
    );
  const mode = table.BillingModeSummary?.BillingMode ?? 'PROVISIONED';
  findings.push(
    mode === 'PAY_PER_REQUEST'
      ? { check: 'capacity', status: 'ok', message: `${name} has on-demand capacity` }
      : {
          check: 'capacity',
          status: 'warn',
          message: `${name} has provisioned capacity: calls fail with OVERLOADED above it`,
          fix: 'Use on-demand capacity, or autoscaling with room for bursts',
        },
  );
  return findings;
}

async function hasRecovery(client: Client, TableName: string): Promise<boolean> {
  const command = new client.sdk.DescribeContinuousBackupsCommand({ TableName });
  const { ContinuousBackupsDescription: backups } = await client.manage((sdk) => sdk.send(command));
  return backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === 'ENABLED';
}

async function hasExpiry(client: Client, TableName: string): Promise<boolean> {
  const command = new client.sdk.DescribeTimeToLiveCommand({ TableName });
  const { TimeToLiveDescription: expiry } = await client.manage((sdk) => sdk.send(command));
  return expiry?.AttributeName === TTL_ATTRIBUTE && /^ENABL/.test(expiry.TimeToLiveStatus ?? '');
}

/** Compares this machine's clock with the time in DynamoDB's replies. */
async function examineClock(client: Client): Promise<DoctorFinding> {
  const skew = await client.clockSkew();
  if (skew === null) return { check: 'clock', status: 'ok', message: 'The endpoint does not report its time' };
  const message = `This machine's clock differs from DynamoDB's by ${Math.round(skew)} ms`;
  return Math.abs(skew) <= MAX_SKEW_MS
    ? { check: 'clock', status: 'ok', message }
    : {
        check: 'clock',
        status: 'warn',
        message: `${message}; times of events and the expiry of records follow it`,
        fix: 'Synchronise the clock, for example with chrony',
      };
}
