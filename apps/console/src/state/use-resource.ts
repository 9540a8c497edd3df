import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../api/client.js';
import { sessionNumber } from './session.js';

/** Something that is read from a replica. What was read before stays while it is read again. */
export interface Resource<T> {
  readonly data: T | null;
  readonly failure: ApiFailure | null;
  readonly loading: boolean;
  /** Reads it again. */
  reload(): void;
  /** Changes what is shown, by something that came live. */
  change(next: (data: T) => T): void;
}

interface Held<T> {
  readonly key: string;
  readonly data: T | null;
  readonly failure: ApiFailure | null;
  readonly loading: boolean;
}

/** Reads what `key` names whenever it changes; an answer that comes too late for its key is dropped. */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const [round, setRound] = useState(0);
  const [held, setHeld] = useState<Held<T>>(begin(key));
  const loader = useRef(load);
  loader.current = load;
  // Asked for while an answer is under way: that answer may be too old. It is awaited all the same, else a task that
  // changes all the time would never be shown.
  const again = useRef(false);
  const busy = useRef(false);
  const session = sessionNumber.value;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const settle = (next: (old: Held<T>) => Held<T>): void => {
      if (signal.aborted) return;
      busy.current = false;
      setHeld(next);
      if (again.current) setRound((old) => old + 1);
      again.current = false;
    };
    busy.current = true;
    setHeld((old) => (old.key === key ? { ...old, loading: true } : begin(key)));
    loader.current(signal).then(
      (data) => settle(() => ({ key, data, failure: null, loading: false })),
      (cause: unknown) => settle((old) => ({ ...old, failure: failureFrom(cause), loading: false })),
    );
    return () => controller.abort();
  }, [key, round, session]);
  const reload = useCallback(() => {
    if (busy.current) again.current = true;
    else setRound((old) => old + 1);
  }, []);
  const change = useCallback(
    (next: (data: T) => T) => setHeld((old) => (old.data === null ? old : { ...old, data: next(old.data) })),
    [],
  );
  const { data, failure, loading } = held.key === key ? held : begin<T>(key);
  return { data, failure, loading, reload, change };
}

function begin<T>(key: string): Held<T> {
  return { key, data: null, failure: null, loading: true };
}

function failureFrom(cause: unknown): ApiFailure {
  return cause instanceof ApiFailure ? cause : new ApiFailure(0, String(cause));
}
