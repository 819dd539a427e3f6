/** The inbox: every pause that waits for somebody. */
import { TenantBox, tenantInPlace } from '../shell/tenant-box.tsx';
import { PauseInbox } from './pause-inbox.tsx';

export function PausesView() {
  const tenant = tenantInPlace();
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
