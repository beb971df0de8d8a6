/**
 * Streams answers that read the whole log: one such read at a time, piece by piece, with a turn of the event loop before
 * each piece, so that other requests are answered meanwhile and governed writes go first.
 */
import { AppError } from "../kit/errors.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { letWritesPass } from "./write_priority.ts";

/** The pieces of an answer, each made in a few milliseconds. */
export type Chunks = AsyncGenerator<string | Uint8Array, unknown>;

/** A reader that takes nothing for this long is dropped. */
const IDLE_MS = 30_000;

const reading = new WeakSet<object>();

/** Streams an answer that reads the whole log of these deps. Errors: 503 `reads_busy` while another one is read. */
export function streamLog(deps: object, makeChunks: () => Chunks): ReadableStream<Uint8Array> {
  if (reading.has(deps))
    throw new AppError(
      "reads_busy",
      "another reader takes the whole log (pack, export, CSV, JSONL); try again when it has ended",
      {},
      { "retry-after": "5" },
    );
  reading.add(deps);
  return streamChunks(deps, makeChunks, () => void reading.delete(deps));
}

/** Streams an answer with a turn of the event loop before each piece; governed writes go first. */
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

/** Work around the pieces: `before` each of them, and once at the end. */
interface Steps {
  before: () => Promise<void>;
  end: () => void;
}

/** Streams pieces; a reader that goes away, or takes nothing for 30 s, ends it. */
export function createSteppedStream(chunks: Chunks, { before, end }: Steps): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let idle: ReturnType<typeof setTimeout> | undefined;
  const close = (): void => {
    clearTimeout(idle);
    end();
  };
  const dropIdle = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    idle = setTimeout(() => {
      close();
      controller.error(new Error(`the reader took nothing for ${IDLE_MS / 1000} s`));
      void chunks.return(undefined);
    }, IDLE_MS);
    (idle as { unref?: () => void }).unref?.();
  };
  return new ReadableStream<Uint8Array>(
    {
      start: dropIdle,
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
          dropIdle(controller);
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
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  );
}
