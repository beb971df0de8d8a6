/** Fetches the public keys of an issuer: https, no redirects, 256 KiB and 5 s at most. */
import { readCappedText } from "../kit/capped_text.ts";
import { describeCause } from "../kit/fetch_failure.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { TokenRejected } from "./token_rejected.ts";

const MAX_KEYS_BYTES = 256 * 1024;
const FETCH_TIMEOUT_MS = 5_000;

/** Sends a request, as `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Returns the body of a 200. Errors: `TokenRejected`. */
export async function fetchKeys(url: string, send: Fetch): Promise<string> {
  let text: string | undefined;
  try {
    text = await runWithTimeLimit(async (signal) => {
      // Workers do not support the value "error"; with "manual" a redirect fails the check of the status.
      const response = await send(url, {
        headers: { accept: "application/json, text/plain" },
        redirect: "manual",
        signal,
      });
      if (response.status === 200) return readCappedText(response, MAX_KEYS_BYTES);
      await response.body?.cancel();
      throw new Error(`status ${response.status}`);
    }, FETCH_TIMEOUT_MS);
  } catch (error) {
    throw missingKeysError(`${url}: ${describeCause(error)}`);
  }
  if (text === undefined) throw missingKeysError(`${url}, which answers more than ${MAX_KEYS_BYTES} bytes`);
  return text;
}

/** Builds the error for a token whose issuer's keys could not be fetched. */
export const missingKeysError = (detail: string): TokenRejected =>
  new TokenRejected("the keys of its issuer could not be fetched", `no keys from ${detail}`);
