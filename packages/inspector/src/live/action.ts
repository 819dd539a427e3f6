/** An action on the server: running, done, or failed and ready to be retried. */
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

export class Action {
  readonly isBusy = signal(false);
  readonly error = signal<unknown>(undefined);
  #act: () => Promise<void> = async () => {};

  /** `act` must send a request id, so that a retry does not repeat the action. */
  readonly run = (act: () => Promise<void>): void => {
    this.#act = act;
    this.again();
  };

  /** Retries the same request. */
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
