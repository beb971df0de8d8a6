/** Streams the service's events as server-sent events; a client can resume, and an idle stream does no work. */
import type { Store } from "../store/store.ts";
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import { cursorText, type EventCursor, readEventsSince, type StreamEvent } from "./event_cursor.ts";

const BATCH_SIZE = 100;

/**
 * Times in milliseconds. `heartbeat`: after so long without an event a comment is sent, so that proxies keep the connection;
 * `poll`: interval of checks for commits of other processes; `lifetime`: then the stream ends, and the client reconnects with its
 * cursor.
 */
const TIMES = { heartbeat: 15_000, poll: 2_000, lifetime: 3_600_000 };

/** Streams events after a cursor, one batch for each read of the client; a client that does not read costs nothing. */
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
  /** True if there may be events after the cursor; `readCommit`: the last commit at the last read. */
  let mayHaveEvents = true;
  let readCommit = commits.count;

  /** Returns the next text to send: events, a heartbeat, or nothing when the stream is over. */
  const next = async (): Promise<string | undefined> => {
    const requestedAt = performance.now();
    while (!disconnected.signal.aborted && !commits.closed && performance.now() < ends) {
      if (mayHaveEvents) readCommit = commits.count;
      const events = mayHaveEvents ? await readEventsSince(store, cursor, BATCH_SIZE) : [];
      if (events.length > 0) {
        cursor = events.at(-1)!.cursor;
        return events.map(eventText).join("");
      }
      const idle = performance.now() - requestedAt;
      if (idle >= heartbeat) return ": \n\n";
      mayHaveEvents = await commits.wait(readCommit, Math.min(poll, heartbeat - idle), disconnected.signal);
    }
    return undefined;
  };

  return new ReadableStream(
    {
      // Sent immediately, since the client gets the headers only with the first bytes.
      start: (controller) => controller.enqueue(encoder.encode("retry: 3000\n\n")),
      async pull(controller) {
        let text: string | undefined;
        try {
          text = await next();
        } finally {
          // A stream that ends or fails is not canceled, so the end is reported here.
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
    // Nothing is read before the client reads.
    { highWaterMark: 0 },
  );
}

const eventText = ({ cursor, type, data }: StreamEvent): string =>
  `id: ${cursorText(cursor)}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
