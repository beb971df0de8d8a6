/** Keeps what is shown fresh: server-sent events, or, where they do not get through, asking every few seconds. */
import type { AuditEntry } from "./api_types.ts";
import { address, contact, tokens } from "./api.ts";
import { readEvents } from "./event_stream.ts";
import { adminToken, readToken } from "./session.ts";
import { value } from "./value.ts";

/** Something that happened at the service; `null` when anything may have. */
export type News =
  | { type: "audit"; data: AuditEntry }
  | { type: "growth" }
  | { type: "tick"; data: { tick: number; at: string } }
  | null;

/** How fresh the page is, and since when it is so (milliseconds). */
export interface Freshness {
  mode: "connecting" | "live" | "polling" | "offline";
  since: number;
}

export const freshness = value<Freshness>({ mode: "connecting", since: Date.now() });

/** Milliseconds between two questions while there is no stream. */
export const POLL_MS = 10_000;
const RETRY_MS = 2_000;
/** A stream that does not open, or ends sooner than this, is tried again after it; one that the service refuses, later. */
const NO_STREAM_MS = 10_000;
const REFUSED_STREAM_MS = 60_000;

/** A first stream that opens sooner than this has missed next to nothing, which shows this much later. */
const PROMPT_MS = 2_000;
const SETTLE_MS = 5_000;

const TYPES: readonly string[] = ["audit", "growth", "tick"];
const listeners = new Set<(news: News) => void>();

/** A stream on its way, or open. */
let stream: { gone: AbortController; isOpen: boolean } | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let notBefore = 0;
let isFirst = true;

/** Calls `listener` with whatever happens, until the returned function is called. */
export function onNews(listener: (news: News) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `listener` when the service is reached again after it was away, until the returned function is called. */
export function onReturn(listener: () => void): () => void {
  let away = freshness.get().mode === "offline";
  return freshness.subscribe(() => {
    const { mode } = freshness.get();
    if (away && mode !== "offline") listener();
    away = mode === "offline";
  });
}

/** Begins to listen; a hidden window rests, since a browser grants a service only six connections. */
export function startLive(): void {
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : begin()));
  contact.subscribe(() => {
    if (contact.get().reached || freshness.get().mode === "offline") return;
    become("offline");
    fallBack();
  });
  // With a token what was refused may be read.
  for (const token of [adminToken, readToken])
    token.subscribe(() => {
      notBefore = 0;
      tell(null);
      if (!document.hidden && !stream?.isOpen) open();
    });
  if (!document.hidden) begin();
}

function begin(): void {
  open();
  schedule(RETRY_MS);
}

function rest(): void {
  clearTimeout(timer);
  stream?.gone.abort();
  stream = undefined;
}

function open(): void {
  if (stream || Date.now() < notBefore) return;
  const opening = { gone: new AbortController(), isOpen: false };
  stream = opening;
  void listen(opening).then((left) => {
    if (stream !== opening) return;
    if (left > 0) notBefore = Date.now() + left;
    fallBack();
  });
}

/** Listens until the stream ends, and tells for how long another one is not worth trying. */
async function listen(opening: NonNullable<typeof stream>): Promise<number> {
  const { signal } = opening.gone;
  const begun = Date.now();
  let openedAt: number | undefined;
  try {
    const headers = { accept: "text/event-stream", ...tokens() };
    const response = await fetch(address("api/events"), { cache: "no-store", headers, signal });
    if (!response.ok) return REFUSED_STREAM_MS;
    openedAt = Date.now();
    opening.isOpen = true;
    clearTimeout(timer);
    become("live");
    // The page's first readings begin with the stream, and are nearly always newer; the few milliseconds between are read later.
    if (isFirst && openedAt - begun < PROMPT_MS) setTimeout(() => tell(null), SETTLE_MS);
    else tell(null);
    isFirst = false;
    await readEvents(response, (type, data) => {
      if (TYPES.includes(type)) tell({ type, data: JSON.parse(data) } as News);
    });
  } catch {
    // It could not be reached, or was cut.
  }
  // A proxy that cuts each stream at once would otherwise be asked without a pause.
  return openedAt === undefined || Date.now() - openedAt < NO_STREAM_MS ? NO_STREAM_MS : 0;
}

/** The stream is gone: ask at once, then every few seconds, and try to open it again. */
function fallBack(): void {
  stream?.gone.abort();
  stream = undefined;
  if (!document.hidden) void ask();
}

function schedule(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void ask(), ms);
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  const reached = await fetch(address("api/product/identity"), { cache: "no-store", signal: AbortSignal.timeout(5000) })
    .then(() => true)
    .catch(() => false);
  if (document.hidden || freshness.get().mode === "live") {
    if (stream) return;
  }
  if (reached && freshness.get().mode === "offline") notBefore = 0;
  contact.set({ reached, at: Date.now() });
  if (reached) {
    if (!stream?.isOpen) become("polling");
    tell(null);
    open();
  } else become("offline");
  schedule(reached ? POLL_MS : RETRY_MS);
}

function become(mode: Freshness["mode"]): void {
  if (freshness.get().mode !== mode) freshness.set({ mode, since: Date.now() });
}

function tell(news: News): void {
  for (const listener of [...listeners]) listener(news);
}
