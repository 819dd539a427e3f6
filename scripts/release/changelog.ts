/** Reads and closes the unreleased section of the changelog. */

/** A version of three numbers, with an optional pre-release such as `-rc.1`. */
const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[0-9a-z]+(?:\.[0-9a-z]+)*)?$/;

/** Throws unless the version is well formed and, compared by its three numbers, not older than the current one. */
export function checkVersion(version: string, current: string): void {
  const wanted = VERSION.exec(version);
  if (!wanted) throw new Error(`"${version}" is not a version such as 0.2.0 or 0.2.0-rc.1.`);
  const numbers = wanted.slice(1, 4).map(Number);
  const present = (VERSION.exec(current) ?? []).slice(1, 4).map(Number);
  const at = numbers.findIndex((number, index) => number !== present[index]);
  if (at >= 0 && numbers[at]! < present[at]!)
    throw new Error(`${version} is older than ${current}, the current version.`);
}

/** Returns the changelog with its unreleased section as the section of this version and day. */
export function closeSection(changelog: string, version: string, day: string): string {
  const [heading, series] = /^## (\S+) \(unreleased\)$/m.exec(changelog) ?? [];
  if (heading === undefined || series === undefined) throw new Error('CHANGELOG.md has no unreleased section.');
  if (version !== series && !version.startsWith(`${series}.`)) {
    throw new Error(`The unreleased section of CHANGELOG.md is for ${series}, not for ${version}.`);
  }
  const closed = changelog.replace(heading, `## ${version} (${day})`);
  sectionOf(closed, version);
  return closed;
}

/** Returns the text of a version's section without its heading. `## 0.1` is also the section of 0.1.0. */
export function sectionOf(changelog: string, version: string): string {
  const names = [version, version.replace(/\.0$/, '')];
  const section = changelog
    .split(/^## /m)
    .slice(1)
    .find((text) => !/^\S+ \(unreleased\)/.test(text) && names.includes(/^\S+/.exec(text)![0]));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${version}.`);
  const text = section.slice(section.indexOf('\n')).trim();
  if (text === '') throw new Error(`The section for ${version} in CHANGELOG.md is empty.`);
  return `${text}\n`;
}
