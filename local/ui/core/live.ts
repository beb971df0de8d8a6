/** Updates from the service: server-sent events, or polling while no event stream can be opened. */
import type { AuditEntry } from "./api_types.ts";
import { apiUrl, lastContact, makeTokenHeaders } from "./api.ts";
import { readEvents } from "./event_stream.ts";
import { adminToken, readToken } from "./session.ts";
import { createValue } from "./value.ts";

/** An event of the service; `null` means that anything may have changed. */
export type ServiceEvent =
  | { type: "audit"; data: AuditEntry }
  | { type: "growth" }
  | { type: "tick"; data: { tick: number; at: string } }
  | null;

/** The connection mode, and its start in milliseconds. */
export interface Freshness {
  mode: "connecting" | "live" | "polling" | "offline";
  since: number;
}

export const freshness = createValue<Freshness>({ mode: "connecting", since: Date.now() });

/** Milliseconds between two polls while there is no stream. */
export const POLL_MS = 10_000;
const OFFLINE_POLL_MS = 2_000;
/** Wait before the next stream, after one that could not be opened or ended within this time. */
const CUT_STREAM_RETRY_MS = 10_000;
/** Wait before the next stream, after one that the service rejected. */
const REJECTED_STREAM_RETRY_MS = 60_000;

/** After a first stream that opens within this time, the page is read again only after `LATE_READ_MS`: few events were missed. */
const MAX_PROMPT_OPEN_MS = 2_000;
const LATE_READ_MS = 5_000;

const EVENT_TYPES: readonly string[] = ["audit", "growth", "tick"];
const listeners = new Set<(event: ServiceEvent) => void>();

/** The stream that is open or being opened. */
let stream: { controller: AbortController; isOpen: boolean } | undefined;
let pollTimer: ReturnType<typeof setTimeout> | undefined;
let earliestOpenAt = 0;
let isFirstStream = true;

/** Calls `listener` with each event until the returned function is called. */
export function subscribeToEvents(listener: (event: ServiceEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `listener` when the service can be reached again, until the returned function is called. */
export function subscribeToReconnect(listener: () => void): () => void {
  let wasOffline = freshness.get().mode === "offline";
  return freshness.subscribe(() => {
    const { mode } = freshness.get();
    if (wasOffline && mode !== "offline") listener();
    wasOffline = mode === "offline";
  });
}

/** Starts the updates; a hidden window pauses, since a browser opens at most six connections to a service. */
export function startLive(): void {
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : start()));
  lastContact.subscribe(() => {
    if (lastContact.get().reached || freshness.get().mode === "offline") return;
    setMode("offline");
    startPolling();
  });
  // A new token may open reads and the stream that were rejected, or are about to be.
  for (const token of [adminToken, readToken])
    token.subscribe(() => {
      earliestOpenAt = 0;
      notifyListeners(null);
      if (document.hidden || stream?.isOpen) return;
      pause();
      start();
    });
  if (!document.hidden) start();
}

function start(): void {
  openStream();
  // A stream that opens earlier cancels this poll.
  schedulePoll(OFFLINE_POLL_MS);
}

function pause(): void {
  clearTimeout(pollTimer);
  stream?.controller.abort();
  stream = undefined;
}

function openStream(): void {
  if (stream || Date.now() < earliestOpenAt) return;
  const opening = { controller: new AbortController(), isOpen: false };
  stream = opening;
  void readStream(opening).then((retryMs) => {
    if (stream !== opening) return;
    if (retryMs > 0) earliestOpenAt = Date.now() + retryMs;
    startPolling();
  });
}

/** Reads the stream to its end; resolves with the milliseconds to wait before the next one. */
async function readStream(opening: NonNullable<typeof stream>): Promise<number> {
  const { signal } = opening.controller;
  const startedAt = Date.now();
  let openedAt: number | undefined;
  try {
    const headers = { accept: "text/event-stream", ...makeTokenHeaders() };
    const response = await fetch(apiUrl("api/events"), { cache: "no-store", headers, signal });
    if (!response.ok) return REJECTED_STREAM_RETRY_MS;
    openedAt = Date.now();
    opening.isOpen = true;
    clearTimeout(pollTimer);
    setMode("live");
    // The page's first reads start together with the stream; a later read shows the events that neither delivered.
    if (isFirstStream && openedAt - startedAt < MAX_PROMPT_OPEN_MS)
      setTimeout(() => notifyListeners(null), LATE_READ_MS);
    else notifyListeners(null);
    isFirstStream = false;
    await readEvents(response, (type, data) => {
      if (EVENT_TYPES.includes(type)) notifyListeners({ type, data: JSON.parse(data) } as ServiceEvent);
    });
  } catch {
    // The service cannot be reached, or the stream was cut.
  }
  // A proxy that cuts each stream immediately must not be asked without a pause.
  return openedAt === undefined || Date.now() - openedAt < CUT_STREAM_RETRY_MS ? CUT_STREAM_RETRY_MS : 0;
}

/** Polls now, and from then on every few seconds; each poll tries to open the stream again. */
function startPolling(): void {
  stream?.controller.abort();
  stream = undefined;
  if (!document.hidden) void poll();
}

function schedulePoll(ms: number): void {
  clearTimeout(pollTimer);
  pollTimer = setTimeout(() => void poll(), ms);
}

async function poll(): Promise<void> {
  clearTimeout(pollTimer);
  // Any answer shows that the service is reached, also one that rejects the missing token.
  const reached = await fetch(apiUrl("api/product/identity"), { cache: "no-store", signal: AbortSignal.timeout(5000) })
    .then(() => true)
    .catch(() => false);
  if (document.hidden || (stream && freshness.get().mode === "live")) return;
  // After an outage the stream is opened without the wait that the lost one left behind.
  if (reached && freshness.get().mode === "offline") earliestOpenAt = 0;
  lastContact.set({ reached, at: Date.now() });
  if (reached) {
    if (!stream?.isOpen) setMode("polling");
    notifyListeners(null);
    openStream();
  } else setMode("offline");
  schedulePoll(reached ? POLL_MS : OFFLINE_POLL_MS);
}

function setMode(mode: Freshness["mode"]): void {
  if (freshness.get().mode !== mode) freshness.set({ mode, since: Date.now() });
}

function notifyListeners(event: ServiceEvent): void {
  for (const listener of [...listeners]) listener(event);
}
