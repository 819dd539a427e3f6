/** What a view has asked the server for: nothing yet, the answer, or why there is none. */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

export interface Resource<T> {
  readonly data: Signal<T | undefined>;
  readonly error: Signal<unknown>;
  readonly isLoading: Signal<boolean>;
  /** Asks again; what was there is shown until the answer comes. */
  readonly reload: () => void;
}

class Loading<T> implements Resource<T> {
  readonly data = signal<T | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly isLoading = signal(true);
  readonly #load: (signal: AbortSignal) => Promise<T>;
  #asking = new AbortController();

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  readonly reload = (): void => {
    this.stop();
    const asking = new AbortController();
    this.#asking = asking;
    this.isLoading.value = true;
    this.#load(asking.signal).then(
      (data) => {
        if (asking.signal.aborted) return;
        this.data.value = data;
        this.error.value = undefined;
        this.isLoading.value = false;
      },
      (error) => {
        if (asking.signal.aborted) return;
        this.error.value = error;
        this.isLoading.value = false;
      },
    );
  };

  stop(): void {
    this.#asking.abort();
  }
}

/** Loads when shown, and anew when the key is another. */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const loading = useMemo(() => new Loading(load), [key]);
  useEffect(() => {
    loading.reload();
    return () => loading.stop();
  }, [loading]);
  return loading;
}
