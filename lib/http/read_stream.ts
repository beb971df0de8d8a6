/**
 * Streams answers that read the complete log, one at a time, in chunks. Between chunks other requests are answered, and governed
 * writes go first.
 */
import { AppError } from "../kit/errors.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { letWritesPass } from "./write_priority.ts";

/** The chunks of an answer, each produced within a few milliseconds. */
export type Chunks = AsyncGenerator<string | Uint8Array, unknown>;

/** A client that reads nothing for this long is disconnected. */
const IDLE_MS = 30_000;

const busyServices = new WeakSet<object>();

/** Streams an answer that reads the complete log of a service. Errors: 503 `reads_busy` while another such answer is streamed. */
export function streamLog(deps: object, makeChunks: () => Chunks): ReadableStream<Uint8Array> {
  if (busyServices.has(deps))
    throw new AppError(
      "reads_busy",
      "another request reads the complete log (pack, export, CSV, JSONL); try again when it has ended",
      {},
      { "retry-after": "5" },
    );
  busyServices.add(deps);
  return streamChunks(deps, makeChunks, () => void busyServices.delete(deps));
}

/** Streams an answer and yields to other requests before each chunk; governed writes go first. */
export function streamChunks(
  deps: object,
  makeChunks: () => Chunks,
  end: () => void = () => {},
): ReadableStream<Uint8Array> {
  const passedWrites = new WeakSet<object>();
  const before = async (): Promise<void> => {
    await yieldToEventLoop();
    await letWritesPass(deps, passedWrites);
  };
  return createSteppedStream(makeChunks(), { before, end });
}

/** Callbacks: `before` each chunk, and `end` once at the end. */
interface Steps {
  before: () => Promise<void>;
  end: () => void;
}

/** Streams chunks; ends when the client disconnects or reads nothing for 30 s. */
export function createSteppedStream(chunks: Chunks, { before, end }: Steps): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let idle: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  // A client may disconnect while a chunk is produced: both then close the stream.
  const close = (): void => {
    clearTimeout(idle);
    if (!isClosed) end();
    isClosed = true;
  };
  const startIdleTimer = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    idle = setTimeout(() => {
      close();
      controller.error(new Error(`the reader took nothing for ${IDLE_MS / 1000} s`));
      void chunks.return(undefined);
    }, IDLE_MS);
    // Only Node has `unref`, without which the timer would delay the end of the process.
    (idle as { unref?: () => void }).unref?.();
  };
  return new ReadableStream<Uint8Array>(
    {
      start: startIdleTimer,
      async pull(controller) {
        clearTimeout(idle);
        try {
          await before();
          const { done, value } = await chunks.next();
          if (done) {
            close();
            controller.close();
            return;
          }
          controller.enqueue(typeof value === "string" ? encoder.encode(value) : (value as Uint8Array));
          startIdleTimer(controller);
        } catch (error) {
          close();
          throw error;
        }
      },
      async cancel() {
        close();
        await chunks.return(undefined);
      },
    },
    // No chunk is produced before the client reads.
    { highWaterMark: 0 },
  );
}
