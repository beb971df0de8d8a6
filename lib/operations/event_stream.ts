/** Server-sent events of what happens: resumable, and asleep while nothing does. */
import type { Store } from "../store/store.ts";
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import { cursorText, type EventCursor, readEventsSince, type StreamEvent } from "./event_cursor.ts";

const BATCH = 100;

/**
 * Times in milliseconds. A comment is sent when nothing else was for `heartbeat`, so that proxies keep the connection; every
 * `poll` it is looked whether other processes have written; after `lifetime` the reader is sent away, and comes back with its
 * cursor.
 */
const TIMES = { heartbeat: 15_000, poll: 2_000, lifetime: 3_600_000 };

/** Events after a cursor, one batch for each time the reader asks: a reader that does not read costs nothing. */
export function createEventStream(
  { store, commits = createCommitSignal() }: { store: Store; commits?: CommitSignal | undefined },
  from: EventCursor,
  onEnd: () => void = () => {},
  { heartbeat, poll, lifetime } = TIMES,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const disconnected = new AbortController();
  const ends = performance.now() + lifetime;
  let cursor = from;
  /** True if there may be rows after the cursor; and the last commit at the time of the last read. */
  let moved = true;
  let readCommit = commits.count;

  /** Returns the next text to send: events, a heartbeat, or nothing when the stream is over. */
  const next = async (): Promise<string | undefined> => {
    const requestedAt = performance.now();
    while (!disconnected.signal.aborted && !commits.closed && performance.now() < ends) {
      if (moved) readCommit = commits.count;
      const events = moved ? await readEventsSince(store, cursor, BATCH) : [];
      if (events.length > 0) {
        cursor = events.at(-1)!.cursor;
        return events.map(eventText).join("");
      }
      const idle = performance.now() - requestedAt;
      if (idle >= heartbeat) return ": \n\n";
      moved = await commits.wait(readCommit, Math.min(poll, heartbeat - idle), disconnected.signal);
    }
    return undefined;
  };

  return new ReadableStream(
    {
      // Before anything happens: until then the reader would not even see the headers.
      start: (controller) => controller.enqueue(encoder.encode("retry: 3000\n\n")),
      async pull(controller) {
        let text: string | undefined;
        try {
          text = await next();
        } finally {
          // A stream that fails is not cancelled, but its reader is gone all the same.
          if (text === undefined && !disconnected.signal.aborted) onEnd();
        }
        if (text !== undefined) controller.enqueue(encoder.encode(text));
        else if (!disconnected.signal.aborted) controller.close();
      },
      cancel() {
        onEnd();
        disconnected.abort();
      },
    },
    { highWaterMark: 0 },
  );
}

const eventText = ({ cursor, type, data }: StreamEvent): string =>
  `id: ${cursorText(cursor)}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
