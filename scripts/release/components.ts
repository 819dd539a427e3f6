/** Lists the packages that users get: as a CycloneDX document, and as a page of licences. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Manifest, packageFolders, readManifest } from '../packages/manifests.ts';

/** The fields of a package in a CycloneDX document that we read. */
export interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[];
}

/**
 * Returns the name of a package from its reference. For our own packages, the document's `name` is the name of the
 * folder.
 */
function nameOf(component: Component | undefined): string {
  const ref = component?.['bom-ref'] ?? '';
  return ref.slice(0, ref.lastIndexOf('@'));
}

/** A CycloneDX document of `npm sbom`. */
export interface Bom {
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** Returns the packages that are built into the inspector's page, whose manifest lists them as development dependencies. */
export function bundledPackages(root: string): string[] {
  const files = globSync('packages/inspector/src/**/*.{ts,tsx}', { cwd: root });
  const names = files
    .filter((file) => !file.includes('.test.'))
    .flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(/from '((?:@[^/']+\/)?[a-z][^/':]*)[/']/g)])
    .map(([, name]) => name!);
  const { devDependencies = {} } = readManifest(join(root, 'packages/inspector'));
  return [...new Set(names)].filter((name) => name in devDependencies && !name.startsWith('@tidemark/')).sort();
}

/** Returns the manifests of the published packages. */
export function publishedManifests(root: string): Manifest[] {
  return packageFolders(root, { published: true }).map((folder) => readManifest(join(root, folder)));
}

/**
 * Returns the document with only the published packages and their dependencies, under a new version.
 * `npm sbom --omit dev` is not sufficient, because it omits packages that are both a dependency and a development
 * dependency.
 */
export function narrowed(bom: Bom, manifests: Manifest[], bundled: string[], version: string): Bom {
  const ours = new Map(manifests.map((manifest) => [manifest.name, manifest]));
  const edges = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const root = bom.metadata.component;
  const byRef = new Map(bom.components.map((component) => [component['bom-ref'], component]));
  const dependenciesOf = (ref: string): string[] => {
    const manifest = ours.get(nameOf(byRef.get(ref)));
    const found = (edges.get(ref) ?? []).filter((it) => byRef.has(it));
    if (!manifest) return found;
    return found.filter((it) => nameOf(byRef.get(it)) in (manifest.dependencies ?? {}));
  };
  const starts = bom.components.filter((it) => ours.has(nameOf(it)) || bundled.includes(nameOf(it)));
  const needed = new Set(starts.map((component) => component['bom-ref']));
  for (const ref of needed) for (const dependency of dependenciesOf(ref)) needed.add(dependency);

  const ownRef = (ref: string) => (ours.has(nameOf(byRef.get(ref))) ? `${nameOf(byRef.get(ref))}@${version}` : ref);
  const released = (component: Component, name = nameOf(component)): Component => ({
    ...component,
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  });
  const project = released(root);
  return {
    ...bom,
    metadata: { ...bom.metadata, component: project },
    components: [...needed]
      .sort()
      .map((ref) => byRef.get(ref)!)
      .map((component) => (ours.has(nameOf(component)) ? released(component) : component)),
    dependencies: [
      { ref: project['bom-ref'], dependsOn: starts.map((component) => ownRef(component['bom-ref'])).sort() },
      ...[...needed].sort().map((ref) => ({ ref: ownRef(ref), dependsOn: dependenciesOf(ref).map(ownRef) })),
    ],
  };
}

/** Returns the page of licences. Throws for a package without one, so that it is looked up before the release. */
export function licencePage({ components }: Bom): string {
  const rows = components.map((component) => {
    const licences = (component.licenses ?? []).map(
      ({ license, expression }) => expression ?? license?.id ?? license?.name ?? '',
    );
    if (licences.join('') === '') throw new Error(`${component['bom-ref']} declares no licence.`);
    return `| ${nameOf(component)} | ${component.version} | ${licences.join(', ')} |`;
  });
  return `# Licences\n\n| package | version | licence |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
}
