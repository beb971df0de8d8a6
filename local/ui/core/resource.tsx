/** Data of a page: shown immediately from the last time, read again after an event, never replaced under a dialog. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { modals } from "./hooks.tsx";
import { type News, onNews } from "./live.ts";

/** An answer on its way. */
export interface Resource<T> {
  data: T | undefined;
  /** Why the newest answer is missing; `data` may still hold an older one. */
  error: unknown;
  loading: boolean;
  /** Reads again now, also under a dialog. */
  reload: () => Promise<void>;
}

/** How a resource is kept. */
export interface Keeping {
  /** Which news make it read again; by default any do. */
  concerns?: (news: News) => boolean;
}

/** Milliseconds between two readings, so that a busy service is not asked at every event. */
const REST_MS = 800;
const GATHER_MS = 120;
const CACHED = 60;
/** An answer this new is not read again for another part of the page; a dialog always reads, since it decides. */
const FRESH_MS = 2000;

interface Cached {
  data: unknown;
  /** News heard when it began to be read. */
  since: number;
  at: number;
}
const cache = new Map<string, Cached>();

function remember(key: string, data: unknown, since: number): void {
  cache.delete(key);
  cache.set(key, { data, since, at: Date.now() });
  if (cache.size > CACHED) cache.delete(cache.keys().next().value!);
}

const isFresh = (key: string): boolean => {
  const { since, at } = cache.get(key) ?? { since: -1, at: 0 };
  return modals.get() === 0 && since === heard && Date.now() - at < FRESH_MS;
};

/** How many news were heard: what began to be read before the newest of them may not know it. */
let heard = 0;
onNews(() => void heard++);

/** Reads under way, and the number of their readers. */
const underWay = new Map<string, { answer: Promise<unknown>; since: number; readers: number; gone: AbortController }>();

/** Reads by a key, together with its concurrent readers; cancelled when nobody wants it any more. */
async function readTogether<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  { signal, anew }: { signal: AbortSignal; anew: boolean },
): Promise<T> {
  let shared = underWay.get(key);
  if (anew || !shared || shared.since !== heard || shared.gone.signal.aborted) {
    const gone = new AbortController();
    const begun = { answer: read(gone.signal), since: heard, readers: 0, gone };
    underWay.set(key, begun);
    const end = () => void (underWay.get(key) === begun && underWay.delete(key));
    begun.answer.then(end, end);
    shared = begun;
  }
  const { answer, gone } = shared;
  shared.readers++;
  const leave = () => --shared.readers === 0 && gone.abort();
  signal.addEventListener("abort", leave, { once: true });
  return (answer as Promise<T>).finally(() => signal.removeEventListener("abort", leave));
}

/** Reads something by its key; `null` reads nothing. */
export function useResource<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  { concerns }: Keeping = {},
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

    const run = async ({ forced, anew = false }: { forced: boolean; anew?: boolean }): Promise<void> => {
      if (running) return void (again = true);
      running = true;
      again = false;
      const since = heard;
      try {
        const data = await readTogether(key, (signal) => latest.current.read(signal), { signal: gone.signal, anew });
        if (gone.signal.aborted) return;
        if (!forced && known && modals.get() > 0) again = true;
        else {
          known = true;
          remember(key, data, since);
          show({ key, data, loading: false });
        }
      } catch (error) {
        if (gone.signal.aborted) return;
        const data = cache.get(key)?.data as T | undefined;
        show({ key, error, loading: false, ...(data === undefined ? {} : { data }) });
      } finally {
        running = false;
        last = Date.now();
        if (again && modals.get() === 0) soon();
      }
    };
    const soon = (): void => {
      if (timer !== undefined || gone.signal.aborted) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          if (modals.get() > 0) again = true;
          else void run({ forced: false });
        },
        Math.max(GATHER_MS, last + REST_MS - Date.now()),
      );
    };

    const fresh = isFresh(key);
    show({ key, loading: !fresh, ...(known ? { data: cache.get(key)!.data as T } : {}) });
    runner.current = () => run({ forced: true, anew: true });
    if (!fresh) void run({ forced: true });
    const offNews = onNews((news) => (news === null || (latest.current.concerns?.(news) ?? true)) && soon());
    const offModals = modals.subscribe(() => modals.get() === 0 && again && soon());
    return () => {
      gone.abort();
      clearTimeout(timer);
      offNews();
      offModals();
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
