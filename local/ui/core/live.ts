/** Keeps what is shown fresh: server-sent events, or, where they do not get through, asking every few seconds. */
import type { AuditEntry } from "./api_types.ts";
import { apiUrl, lastContact, makeTokenHeaders } from "./api.ts";
import { readEvents } from "./event_stream.ts";
import { adminToken, readToken } from "./session.ts";
import { createValue } from "./value.ts";

/** Something that happened at the service; `null` when anything may have. */
export type ServiceEvent =
  | { type: "audit"; data: AuditEntry }
  | { type: "growth" }
  | { type: "tick"; data: { tick: number; at: string } }
  | null;

/** How fresh the page is, and since when it is so (milliseconds). */
export interface Freshness {
  mode: "connecting" | "live" | "polling" | "offline";
  since: number;
}

export const freshness = createValue<Freshness>({ mode: "connecting", since: Date.now() });

/** Milliseconds between two questions while there is no stream. */
export const POLL_MS = 10_000;
const OFFLINE_POLL_MS = 2_000;
/** A stream that does not open, or ends sooner than this, is tried again after it; one that the service refuses, later. */
const CUT_STREAM_RETRY_MS = 10_000;
const REJECTED_STREAM_RETRY_MS = 60_000;

/** A first stream that opens sooner than this has missed next to nothing, which shows this much later. */
const MAX_PROMPT_OPEN_MS = 2_000;
const LATE_READ_MS = 5_000;

const TYPES: readonly string[] = ["audit", "growth", "tick"];
const listeners = new Set<(event: ServiceEvent) => void>();

/** A stream on its way, or open. */
let stream: { gone: AbortController; isOpen: boolean } | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let earliestOpenAt = 0;
let isFirst = true;

/** Calls `listener` with whatever happens, until the returned function is called. */
export function subscribeToEvents(listener: (event: ServiceEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `listener` when the service is reached again after it was away, until the returned function is called. */
export function subscribeToReconnect(listener: () => void): () => void {
  let away = freshness.get().mode === "offline";
  return freshness.subscribe(() => {
    const { mode } = freshness.get();
    if (away && mode !== "offline") listener();
    away = mode === "offline";
  });
}

/** Begins to listen; a hidden window rests, since a browser grants a service only six connections. */
export function startLive(): void {
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : start()));
  lastContact.subscribe(() => {
    if (lastContact.get().reached || freshness.get().mode === "offline") return;
    setMode("offline");
    startPolling();
  });
  // With a token what was refused may be read.
  for (const token of [adminToken, readToken])
    token.subscribe(() => {
      earliestOpenAt = 0;
      notifyListeners(null);
      if (!document.hidden && !stream?.isOpen) openStream();
    });
  if (!document.hidden) start();
}

function start(): void {
  openStream();
  schedule(OFFLINE_POLL_MS);
}

function pause(): void {
  clearTimeout(timer);
  stream?.gone.abort();
  stream = undefined;
}

function openStream(): void {
  if (stream || Date.now() < earliestOpenAt) return;
  const opening = { gone: new AbortController(), isOpen: false };
  stream = opening;
  void readStream(opening).then((retryMs) => {
    if (stream !== opening) return;
    if (retryMs > 0) earliestOpenAt = Date.now() + retryMs;
    startPolling();
  });
}

/** Listens until the stream ends, and tells for how long another one is not worth trying. */
async function readStream(opening: NonNullable<typeof stream>): Promise<number> {
  const { signal } = opening.gone;
  const begun = Date.now();
  let openedAt: number | undefined;
  try {
    const headers = { accept: "text/event-stream", ...makeTokenHeaders() };
    const response = await fetch(apiUrl("api/events"), { cache: "no-store", headers, signal });
    if (!response.ok) return REJECTED_STREAM_RETRY_MS;
    openedAt = Date.now();
    opening.isOpen = true;
    clearTimeout(timer);
    setMode("live");
    // The page's first readings begin with the stream, and are nearly always newer; the few milliseconds between are read later.
    if (isFirst && openedAt - begun < MAX_PROMPT_OPEN_MS) setTimeout(() => notifyListeners(null), LATE_READ_MS);
    else notifyListeners(null);
    isFirst = false;
    await readEvents(response, (type, data) => {
      if (TYPES.includes(type)) notifyListeners({ type, data: JSON.parse(data) } as ServiceEvent);
    });
  } catch {
    // It could not be reached, or was cut.
  }
  // A proxy that cuts each stream at once would otherwise be asked without a pause.
  return openedAt === undefined || Date.now() - openedAt < CUT_STREAM_RETRY_MS ? CUT_STREAM_RETRY_MS : 0;
}

/** The stream is gone: ask at once, then every few seconds, and try to open it again. */
function startPolling(): void {
  stream?.gone.abort();
  stream = undefined;
  if (!document.hidden) void poll();
}

function schedule(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void poll(), ms);
}

async function poll(): Promise<void> {
  clearTimeout(timer);
  const reached = await fetch(apiUrl("api/product/identity"), { cache: "no-store", signal: AbortSignal.timeout(5000) })
    .then(() => true)
    .catch(() => false);
  if (document.hidden || freshness.get().mode === "live") {
    if (stream) return;
  }
  if (reached && freshness.get().mode === "offline") earliestOpenAt = 0;
  lastContact.set({ reached, at: Date.now() });
  if (reached) {
    if (!stream?.isOpen) setMode("polling");
    notifyListeners(null);
    openStream();
  } else setMode("offline");
  schedule(reached ? POLL_MS : OFFLINE_POLL_MS);
}

function setMode(mode: Freshness["mode"]): void {
  if (freshness.get().mode !== mode) freshness.set({ mode, since: Date.now() });
}

function notifyListeners(event: ServiceEvent): void {
  for (const listener of [...listeners]) listener(event);
}
