/** The pause inbox of a tenant. */
import { currentTenant, TenantBox } from '../shell/tenant-box.tsx';
import { PauseInbox } from './pause-inbox.tsx';

export function PausesView() {
  const tenant = currentTenant();
  return (
    <section class="view scrolls">
      <div class="view-head">
        <h1>Pauses</h1>
        <TenantBox />
      </div>
      <PauseInbox key={tenant} tenant={tenant} />
    </section>
  );
}
