/** Formats a conformance report as text. */
import { DOMAINS } from './kit.ts';
import type { CaseResult, ConformanceReport } from './suite.ts';

/**
 * Returns the counts by domain, then every failure with the broken guarantee, then the skipped cases with their
 * reasons.
 */
export function formatReport(report: ConformanceReport): string {
  const { totals } = report;
  const failed = report.cases.filter((it) => it.status === 'failed');
  return [
    `${report.backend} ${report.version} · contract ${report.contractVersion} · durability ${report.durability}`,
    '',
    ...table(report.cases),
    '',
    ...failed.flatMap(describeFailure),
    ...describeSkipped(report.cases),
    totals.failed === 0
      ? `Conforms: ${totals.passed} promises kept${totals.skipped > 0 ? `, ${totals.skipped} not offered` : ''} (${seconds(report)}).`
      : `Does not conform: ${totals.failed} of ${report.cases.length} promises broken (${seconds(report)}).`,
  ].join('\n');
}

function table(cases: readonly CaseResult[]): string[] {
  const rows = [['domain', 'passed', 'failed', 'skipped']];
  for (const domain of DOMAINS) {
    const own = cases.filter((it) => it.domain === domain);
    if (own.length === 0) continue;
    rows.push([domain, ...(['passed', 'failed', 'skipped'] as const).map((status) => String(countOf(own, status)))]);
  }
  return rows.map(([domain, ...counts]) => `  ${domain!.padEnd(10)}${counts.map((it) => it.padStart(9)).join('')}`);
}

function countOf(cases: readonly CaseResult[], status: CaseResult['status']): number {
  return cases.filter((it) => it.status === status).length;
}

function describeFailure(result: CaseResult): string[] {
  const error = (result.error ?? '').split('\n').map((line) => `      ${line}`);
  return [`  ✗ ${result.id}: ${result.title} [${result.proves.join(', ')}]`, ...error, ''];
}

function describeSkipped(cases: readonly CaseResult[]): string[] {
  const byReason = new Map<string, string[]>();
  for (const { status, reason = '', id } of cases) {
    if (status === 'skipped') byReason.set(reason, [...(byReason.get(reason) ?? []), id]);
  }
  if (byReason.size === 0) return [];
  return [...[...byReason].map(([reason, ids]) => `  – ${ids.length} skipped, ${reason}: ${ids.join(', ')}`), ''];
}

function seconds(report: ConformanceReport): string {
  return `${(report.durationMs / 1000).toFixed(1)} s`;
}
