/** Data of a page: shown from the cache, read again after an event, never replaced under an open dialog. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { openDialogs } from "./hooks.tsx";
import { type ServiceEvent, subscribeToEvents } from "./live.ts";

export interface Resource<T> {
  data: T | undefined;
  /** The error of the newest read; `data` may still be an older answer. */
  error: unknown;
  loading: boolean;
  /** Reads again now, after a running read, and replaces the data also under a dialog. */
  reload: () => Promise<void>;
}

export interface ResourceOptions {
  /** Returns true for an event after which the data are read again; by default for any event. */
  concerns?: (event: ServiceEvent) => boolean;
}

/** Minimum time from the end of a read to the next one, so that not every event of a busy service causes a read. */
const MIN_INTERVAL_MS = 800;
const BATCH_MS = 120; // Events within this time cause one read.
const MAX_CACHED = 60;
/** An answer younger than this serves other parts of the page too. A dialog always reads, since decisions are made in it. */
const FRESH_MS = 2000;

interface Cached {
  data: unknown;
  /** Number of events before the read began. */
  eventsBefore: number;
  at: number;
}
const cache = new Map<string, Cached>();

function cacheAnswer(key: string, data: unknown, eventsBefore: number): void {
  cache.delete(key);
  cache.set(key, { data, eventsBefore, at: Date.now() });
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value!);
}

const isFresh = (key: string): boolean => {
  const { eventsBefore, at } = cache.get(key) ?? { eventsBefore: -1, at: 0 };
  return openDialogs.get() === 0 && eventsBefore === eventCount && Date.now() - at < FRESH_MS;
};

/** Number of events so far: a read that began before the newest event may lack its effect. */
let eventCount = 0;
subscribeToEvents(() => void eventCount++);

/** Requests in flight, with the number of their readers. */
const inFlight = new Map<string, SharedRead>();

interface SharedRead {
  answer: Promise<unknown>;
  eventsBefore: number;
  readers: number;
  controller: AbortController;
}

/** Reads by a key; concurrent readers share one request, which is cancelled when the last reader leaves. */
async function readShared<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  { signal, isReload }: { signal: AbortSignal; isReload: boolean },
): Promise<T> {
  let shared = inFlight.get(key);
  if (isReload || !shared || shared.eventsBefore !== eventCount || shared.controller.signal.aborted) {
    const controller = new AbortController();
    const started: SharedRead = { answer: read(controller.signal), eventsBefore: eventCount, readers: 0, controller };
    inFlight.set(key, started);
    const end = () => void (inFlight.get(key) === started && inFlight.delete(key));
    started.answer.then(end, end);
    shared = started;
  }
  const joined = shared;
  const { answer, controller } = joined;
  joined.readers++;
  const leave = () => {
    joined.readers--;
    if (joined.readers === 0) controller.abort();
  };
  signal.addEventListener("abort", leave, { once: true });
  return (answer as Promise<T>).finally(() => signal.removeEventListener("abort", leave));
}

/** Reads data under a cache key; `null` reads nothing. */
export function useResource<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  { concerns }: ResourceOptions = {},
): Resource<T> {
  const [state, setState] = useState<{ key: string | null; data?: T; error?: unknown; loading: boolean }>({
    key: null,
    loading: true,
  });
  const latest = useRef({ read, concerns });
  latest.current = { read, concerns };
  const runner = useRef<() => Promise<void>>(async () => {});

  useEffect(() => {
    if (key === null) return setState({ key, loading: false });
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let running: Promise<void> | undefined;
    let isReadDue = false;
    let hasData = cache.has(key);
    let lastReadAt = 0;

    /** `forced`: replaces the data also under an open dialog; `isReload`: shares no request in flight. */
    const readNow = async ({ forced, isReload = false }: { forced: boolean; isReload?: boolean }): Promise<void> => {
      isReadDue = false;
      const eventsBefore = eventCount;
      try {
        const data = await readShared(key, (signal) => latest.current.read(signal), {
          signal: controller.signal,
          isReload,
        });
        if (controller.signal.aborted) return;
        if (!forced && hasData && openDialogs.get() > 0) isReadDue = true;
        else {
          hasData = true;
          cacheAnswer(key, data, eventsBefore);
          setState({ key, data, loading: false });
        }
      } catch (error) {
        if (controller.signal.aborted) return;
        const data = cache.get(key)?.data as T | undefined;
        setState({ key, error, loading: false, ...(data === undefined ? {} : { data }) });
      } finally {
        running = undefined;
        lastReadAt = Date.now();
        if (isReadDue && openDialogs.get() === 0) scheduleRead();
      }
    };
    const run = (options: Parameters<typeof readNow>[0]): Promise<void> => (running = readNow(options));
    /** Waits for the running read, which may have begun before a write. */
    const reload = async (): Promise<void> => {
      while (running) await running;
      if (!controller.signal.aborted) await run({ forced: true, isReload: true });
    };
    const scheduleRead = (): void => {
      if (timer !== undefined || controller.signal.aborted) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          if (running || openDialogs.get() > 0) isReadDue = true;
          else void run({ forced: false });
        },
        Math.max(BATCH_MS, lastReadAt + MIN_INTERVAL_MS - Date.now()),
      );
    };

    const fresh = isFresh(key);
    setState({ key, loading: !fresh, ...(hasData ? { data: cache.get(key)!.data as T } : {}) });
    runner.current = reload;
    if (!fresh) void run({ forced: true });
    const unsubscribeEvents = subscribeToEvents(
      (event) => (event === null || (latest.current.concerns?.(event) ?? true)) && scheduleRead(),
    );
    const unsubscribeDialogs = openDialogs.subscribe(() => openDialogs.get() === 0 && isReadDue && scheduleRead());
    return () => {
      controller.abort();
      clearTimeout(timer);
      unsubscribeEvents();
      unsubscribeDialogs();
    };
  }, [key]);

  const reload = useCallback(() => runner.current(), []);
  if (state.key === key) return { data: state.data, error: state.error, loading: state.loading, reload };
  const cached = key === null ? undefined : cache.get(key);
  return { data: cached?.data as T | undefined, error: undefined, loading: true, reload };
}
