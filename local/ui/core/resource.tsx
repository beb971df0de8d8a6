/** Data of a page: shown from the cache, read again after an event, never replaced under an open dialog. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { openDialogs } from "./hooks.tsx";
import { type ServiceEvent, subscribeToEvents } from "./live.ts";

/** The state of a read. */
export interface Resource<T> {
  data: T | undefined;
  /** The error of the newest read; `data` may still be an older answer. */
  error: unknown;
  loading: boolean;
  /** Reads again now, also under a dialog. */
  reload: () => Promise<void>;
}

/** Options of a resource. */
export interface ResourceOptions {
  /** Returns true for an event after which it is read again; by default any. */
  concerns?: (event: ServiceEvent) => boolean;
}

/** Milliseconds between two reads, so that a busy service is not asked at every event. */
const MIN_INTERVAL_MS = 800;
const BATCH_MS = 120;
const MAX_CACHED = 60;
/** A newer answer is not read again for another part of the page; a dialog always reads, since decisions are made in it. */
const FRESH_MS = 2000;

interface Cached {
  data: unknown;
  /** Number of events before the read began. */
  since: number;
  at: number;
}
const cache = new Map<string, Cached>();

function cacheAnswer(key: string, data: unknown, since: number): void {
  cache.delete(key);
  cache.set(key, { data, since, at: Date.now() });
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value!);
}

const isFresh = (key: string): boolean => {
  const { since, at } = cache.get(key) ?? { since: -1, at: 0 };
  return openDialogs.get() === 0 && since === eventCount && Date.now() - at < FRESH_MS;
};

/** Number of events so far: a read that began before the newest event may lack its effect. */
let eventCount = 0;
subscribeToEvents(() => void eventCount++);

/** Requests in flight, with the number of their readers. */
const inFlight = new Map<string, { answer: Promise<unknown>; since: number; readers: number; gone: AbortController }>();

/** Reads by a key; concurrent readers share one request, which is cancelled when the last of them leaves. */
async function readShared<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  { signal, isReload }: { signal: AbortSignal; isReload: boolean },
): Promise<T> {
  let shared = inFlight.get(key);
  if (isReload || !shared || shared.since !== eventCount || shared.gone.signal.aborted) {
    const gone = new AbortController();
    const begun = { answer: read(gone.signal), since: eventCount, readers: 0, gone };
    inFlight.set(key, begun);
    const end = () => void (inFlight.get(key) === begun && inFlight.delete(key));
    begun.answer.then(end, end);
    shared = begun;
  }
  const { answer, gone } = shared;
  shared.readers++;
  const leave = () => --shared.readers === 0 && gone.abort();
  signal.addEventListener("abort", leave, { once: true });
  return (answer as Promise<T>).finally(() => signal.removeEventListener("abort", leave));
}

/** Reads data under a cache key; `null` reads nothing. */
export function useResource<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  { concerns }: ResourceOptions = {},
): Resource<T> {
  const [shown, show] = useState<{ key: string | null; data?: T; error?: unknown; loading: boolean }>({
    key: null,
    loading: true,
  });
  const latest = useRef({ read, concerns });
  latest.current = { read, concerns };
  const runner = useRef<() => Promise<void>>(async () => {});

  useEffect(() => {
    if (key === null) return show({ key, loading: false });
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let running = false;
    let again = false;
    let known = cache.has(key);
    let last = 0;

    const run = async ({ forced, isReload = false }: { forced: boolean; isReload?: boolean }): Promise<void> => {
      if (running) return void (again = true);
      running = true;
      again = false;
      const since = eventCount;
      try {
        const data = await readShared(key, (signal) => latest.current.read(signal), { signal: gone.signal, isReload });
        if (gone.signal.aborted) return;
        if (!forced && known && openDialogs.get() > 0) again = true;
        else {
          known = true;
          cacheAnswer(key, data, since);
          show({ key, data, loading: false });
        }
      } catch (error) {
        if (gone.signal.aborted) return;
        const data = cache.get(key)?.data as T | undefined;
        show({ key, error, loading: false, ...(data === undefined ? {} : { data }) });
      } finally {
        running = false;
        last = Date.now();
        if (again && openDialogs.get() === 0) scheduleRead();
      }
    };
    const scheduleRead = (): void => {
      if (timer !== undefined || gone.signal.aborted) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          if (openDialogs.get() > 0) again = true;
          else void run({ forced: false });
        },
        Math.max(BATCH_MS, last + MIN_INTERVAL_MS - Date.now()),
      );
    };

    const fresh = isFresh(key);
    show({ key, loading: !fresh, ...(known ? { data: cache.get(key)!.data as T } : {}) });
    runner.current = () => run({ forced: true, isReload: true });
    if (!fresh) void run({ forced: true });
    const unsubscribeEvents = subscribeToEvents(
      (event) => (event === null || (latest.current.concerns?.(event) ?? true)) && scheduleRead(),
    );
    const unsubscribeDialogs = openDialogs.subscribe(() => openDialogs.get() === 0 && again && scheduleRead());
    return () => {
      gone.abort();
      clearTimeout(timer);
      unsubscribeEvents();
      unsubscribeDialogs();
    };
  }, [key]);

  const reload = useCallback(() => runner.current(), []);
  const own = shown.key === key;
  return {
    data: own ? shown.data : key === null ? undefined : (cache.get(key)?.data as T | undefined),
    error: own ? shown.error : undefined,
    loading: own ? shown.loading : true,
    reload,
  };
}
