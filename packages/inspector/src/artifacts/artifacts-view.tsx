/** Every artifact of a tenant. */
import { useRef } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { TextBox } from '../parts/text-box.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { place, setQuery } from '../shell/router.ts';
import { TenantBox, tenantInPlace } from '../shell/tenant-box.tsx';
import { ArtifactShelf } from './artifact-shelf.tsx';

export function ArtifactsView() {
  const tenant = tenantInPlace();
  const search = useRef<HTMLInputElement>(null);
  useShortcuts('All artifacts', [{ keys: '/', does: 'look for a text', run: () => search.current?.focus() }]);
  return (
    <section class="view">
      <div class="view-head">
        <h1>Artifacts</h1>
        <label class="search">
          <Icon name="search" />
          <span class="unseen">Text in name, type, session or hash</span>
          <TextBox
            asTyped
            box={search}
            type="search"
            placeholder="Name, type, session, hash …"
            value={place.value.query.get('q') ?? ''}
            onText={(text) => setQuery({ q: text.trim() })}
          />
        </label>
        <TenantBox />
      </div>
      <ArtifactShelf key={tenant} scope={{}} tenant={tenant} />
    </section>
  );
}
