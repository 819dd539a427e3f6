/** Lists all shortcuts of the current view. */
import { Dialog } from '../parts/dialog.tsx';
import { shortcutGroups } from './keys.ts';

export function KeySheet({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div class="key-sheet">
        {shortcutGroups.value.map(({ title, shortcuts }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {shortcuts.map(({ keys, does }) => (
                <div key={keys}>
                  <dt>
                    {keys.split(' ').map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
