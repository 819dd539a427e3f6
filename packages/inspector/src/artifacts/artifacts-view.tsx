/** All artifacts of a tenant. */
import { useRef } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { TextBox } from '../parts/text-box.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { route, setQuery } from '../shell/router.ts';
import { currentTenant, TenantBox } from '../shell/tenant-box.tsx';
import { ArtifactShelf } from './artifact-shelf.tsx';

export function ArtifactsView() {
  const tenant = currentTenant();
  const search = useRef<HTMLInputElement>(null);
  useShortcuts('All artifacts', [{ keys: '/', does: 'search', run: () => search.current?.focus() }]);
  return (
    <section class="view">
      <div class="view-head">
        <h1>Artifacts</h1>
        <label class="search">
          <Icon name="search" />
          <span class="unseen">Search by name, type, session or hash</span>
          <TextBox
            asTyped
            box={search}
            type="search"
            placeholder="Name, type, session, hash …"
            value={route.value.query.get('q') ?? ''}
            onText={(text) => setQuery({ q: text.trim() })}
          />
        </label>
        <TenantBox />
      </div>
      <ArtifactShelf key={tenant} scope={{}} tenant={tenant} />
    </section>
  );
}
