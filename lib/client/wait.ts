/** Waits for the decision about a change. */
import { CountersignError } from "./error.ts";
import type { paths } from "./generated/paths.ts";
import type { Retry } from "./retry.ts";

/** A change with all its details. */
export type ChangeDetail =
  paths["/api/product/changes/{change_id}"]["get"]["responses"][200]["content"]["application/json"];

/** Options of waiting. */
export interface Waiting {
  /** Stops waiting when it is aborted: `AbortSignal.timeout(600_000)`. */
  signal?: AbortSignal | undefined;
  /** Pause between two requests; a host that cannot delay its answers is polled at this interval. */
  pauseMs?: number | undefined;
}

/** Reads the change. With a condition, the service delays its answer up to `seconds` until the change differs from `etag`. */
export type ReadChange = (signal: AbortSignal, condition?: { etag: string; seconds: number }) => Promise<Response>;

/** Less than a minute, after which many proxies close a request. */
const WAIT_SECONDS = 50;

/**
 * Reads the change until it no longer waits for consent. Once a read has succeeded, transient errors are retried, such as those
 * during a restart of the service. Errors: those of a read; the signal's reason.
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

/** Returns true for an error that says nothing about the change: no answer, overload or a server error. */
const isTransient = (error: unknown): boolean =>
  error instanceof CountersignError && (error.status === 0 || error.status === 429 || error.status >= 500);
