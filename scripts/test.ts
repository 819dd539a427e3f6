/**
 * `npm test`: starts the servers once, runs every suite against them, and ends with the line `N passed, N failed`.
 * Arguments go to vitest: `npm test -- packages/core`.
 */

import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runVisibly, toolPath } from './processes.ts';
import { announce, type RunningServers, serversToStart, startServers, stopServers } from './servers/index.ts';

interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
}

/** Runs some of the tests, writes its output to `scratch`, and returns the counts. */
type Suite = (args: string[], scratch: string) => Promise<Outcome>;

const SUITES: Suite[] = [vitest, nodeTest];

/** The part of vitest's JSON report that is needed for the counts. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

async function vitest(args: string[], scratch: string): Promise<Outcome> {
  const file = join(scratch, 'vitest.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const code = await runVisibly(process.execPath, [toolPath('vitest', 'vitest'), 'run', ...reporters, ...args]);
  const report = readReport(file);
  if (!report) return { passed: 0, failed: 1, skipped: 0 };

  // A file that cannot be loaded has no failed tests, but must not pass.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = report.numFailedTests + broken.length;
  return {
    passed: report.numPassedTests,
    failed: code === 0 ? failed : Math.max(1, failed),
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Runs the tests under Node's own runner; with arguments, the files whose path contains one of them. */
async function nodeTest(args: string[], scratch: string): Promise<Outcome> {
  const files = globSync('packages/*/test/**/*.node-test.ts', { cwd: ROOT }).filter(
    (file) => args.length === 0 || args.some((arg) => file.includes(arg)),
  );
  if (files.length === 0) return { passed: 0, failed: 0, skipped: 0 };
  const tap = join(scratch, 'node-test.tap');
  const code = await runVisibly(process.execPath, [
    ...process.execArgv,
    '--test',
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...['--test-reporter=tap', `--test-reporter-destination=${tap}`],
    ...files,
  ]);
  const summary = readFileSync(tap, 'utf8');
  const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(summary)?.[1] ?? 0);
  const failed = count('fail') + count('cancelled');
  return {
    passed: count('pass'),
    failed: code === 0 ? failed : Math.max(1, failed),
    skipped: count('skipped') + count('todo'),
  };
}

async function startAndAnnounce(): Promise<RunningServers> {
  const began = performance.now();
  const servers = await startServers(serversToStart());
  announce(servers);
  const names = Object.entries(servers).map(([name, { version, started }]) => {
    return `${name} ${version}${started ? '' : ' (offered)'}`;
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(names.length > 0 ? `servers ready in ${seconds} s: ${names.join(', ')}` : 'no servers needed');
  return servers;
}

async function runSuites(args: string[]): Promise<Outcome> {
  const total: Outcome = { passed: 0, failed: 0, skipped: 0 };
  const scratch = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  try {
    for (const suite of SUITES) {
      const { passed, failed, skipped } = await suite(args, scratch);
      total.passed += passed;
      total.failed += failed;
      total.skipped += skipped;
    }
    return total;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

let outcome: Outcome = { passed: 0, failed: 1, skipped: 0 };
try {
  const servers = await startAndAnnounce();
  try {
    outcome = await runSuites(process.argv.slice(2));
  } finally {
    await stopServers(servers);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
}
const { passed, failed, skipped } = outcome;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
