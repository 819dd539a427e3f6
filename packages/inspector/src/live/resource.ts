/** Data that a view loads from the server. It is loading, loaded or failed. */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useRecovery } from './outage.ts';

export interface Resource<T> {
  readonly data: Signal<T | undefined>;
  readonly error: Signal<unknown>;
  readonly isLoading: Signal<boolean>;
  /** Loads the data again. The old data stays until the response arrives. */
  readonly reload: () => void;
}

class Loading<T> implements Resource<T> {
  readonly data = signal<T | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly isLoading = signal(true);
  readonly #load: (signal: AbortSignal) => Promise<T>;
  #request = new AbortController();

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  readonly reload = (): void => {
    this.stop();
    const request = new AbortController();
    this.#request = request;
    this.isLoading.value = true;
    this.#load(request.signal).then(
      (data) => {
        if (request.signal.aborted) return;
        this.data.value = data;
        this.error.value = undefined;
        this.isLoading.value = false;
      },
      (error) => {
        if (request.signal.aborted) return;
        this.error.value = error;
        this.isLoading.value = false;
      },
    );
  };

  stop(): void {
    this.#request.abort();
  }
}

/** Loads data when the component is shown, and again when the key changes. */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const loading = useMemo(() => new Loading(load), [key]);
  useEffect(() => {
    loading.reload();
    return () => loading.stop();
  }, [loading]);
  useRecovery(loading.error.value !== undefined, loading.reload);
  return loading;
}
