/** Something the reader does on the server: under way, done, or failed and ready to be sent again as it was. */
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

export class Action {
  readonly isBusy = signal(false);
  readonly error = signal<unknown>(undefined);
  #act: () => Promise<void> = async () => {};

  /** What `act` sends names its request, so that `again` never does it twice. */
  readonly run = (act: () => Promise<void>): void => {
    this.#act = act;
    this.again();
  };

  /** Sends the very same once more. */
  readonly again = (): void => {
    if (this.isBusy.value) return;
    this.isBusy.value = true;
    this.error.value = undefined;
    this.#act()
      .catch((error: unknown) => {
        this.error.value = error;
      })
      .finally(() => {
        this.isBusy.value = false;
      });
  };
}

export function useAction(): Action {
  return useMemo(() => new Action(), []);
}
