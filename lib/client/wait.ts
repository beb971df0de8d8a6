/** Waits for what people decide. */
import { CountersignError } from "./error.ts";
import type { paths } from "./generated/paths.ts";
import type { Retry } from "./retry.ts";

/** One change with all that belongs to it. */
export type ChangeDetail =
  paths["/api/product/changes/{change_id}"]["get"]["responses"][200]["content"]["application/json"];

/** How to wait. */
export interface Waiting {
  /** Ends the waiting: `AbortSignal.timeout(600_000)`. */
  signal?: AbortSignal | undefined;
  /** Between two questions: a service that cannot hold an answer back is asked that often. */
  pauseMs?: number | undefined;
}

/** Reads the change, if it is wanted only when it is another than `etag` names and held back so many seconds. */
export type ReadChange = (signal: AbortSignal, condition?: { etag: string; seconds: number }) => Promise<Response>;

/** A proxy that gives up after a minute lets this pass. */
const WAIT_SECONDS = 50;

/**
 * Asks until the change waits for no consent any more. A service that was there and is away, as during a restart, is
 * asked again. Errors: those of a read; the signal's reason.
 */
export async function waitUntilDecided(
  readChange: ReadChange,
  { signal = new AbortController().signal, pauseMs = 2000 }: Waiting,
  pause: Retry["pause"],
): Promise<ChangeDetail> {
  let etag = "";
  for (;;) {
    signal.throwIfAborted();
    const response = await readChange(signal, etag === "" ? undefined : { etag, seconds: WAIT_SECONDS }).catch(
      (error: unknown) => {
        if (etag === "" || !isTransient(error)) throw error;
      },
    );
    if (response && response.status !== 304) {
      const change = (await response.json()) as ChangeDetail;
      if (change.status !== "proposed" && change.status !== "pending_consent") return change;
      etag = `"${change.revision}"`;
    }
    await pause(pauseMs, signal);
  }
}

/** No answer, or none that says anything of the change. */
const isTransient = (error: unknown): boolean =>
  error instanceof CountersignError && (error.status === 0 || error.status === 429 || error.status >= 500);
