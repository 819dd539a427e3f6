/**
 * Starts `scripts/<name>.ts`, or `<folder>/<name>.ts`, on a Node that can run it. An older Node prints a one-line
 * explanation instead of a stack trace, so this file uses only syntax that Node 14 parses.
 */
// biome-ignore-start lint/style/useNodejsImportProtocol: early releases of Node 14 do not know `node:`.
import { spawn } from 'child_process';
import { readFileSync } from 'fs';
import { fileURLToPath } from 'url';

// biome-ignore-end lint/style/useNodejsImportProtocol: as above.

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** The supported versions, such as `^22.13 || >=23.5`: parts of a line, and one version from which on all are. */
const range = manifest.engines.node.split(' || ');
const isSupported = range.some((/** @type {string} */ part) => {
  const [partMajor = 0, partMinor = 0] = part.replace(/^\D+/, '').split('.').map(Number);
  if (major === partMajor) return minor >= partMinor;
  return part.startsWith('>=') && major > partMajor;
});
const [name = '', ...args] = process.argv.slice(2);

if (!isSupported) {
  console.error(
    `Tidemark needs Node in the range ${manifest.engines.node}; this is Node ${process.versions.node}. ` +
      'Run it as an npm script after `npm ci`, which brings Node 24 along on Linux x64, or install a newer one from https://nodejs.org.',
  );
  process.exitCode = 1;
} else if (!/^[a-z][a-z-]*(\/[a-z0-9-]+)?$/.test(name)) {
  console.error('Usage: node scripts/run.js <name of a script in scripts/, or folder/name> [arguments]');
  process.exitCode = 1;
} else {
  start(fileURLToPath(new URL(`${name.includes('/') ? '..' : '.'}/${name}.ts`, import.meta.url)));
}

/** @param {string} script */
function start(script) {
  const flags = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning'];
  if ((major === 22 && minor < 18) || (major === 23 && minor < 6)) flags.push('--experimental-strip-types');
  const child = spawn(process.execPath, flags.concat(script, args), { stdio: 'inherit' });

  // In a terminal Ctrl-C also reaches the child; a second SIGINT would interrupt its clean-up.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    if (!signal) return process.exit(code === null ? 1 : code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
