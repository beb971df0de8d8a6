/** Fetches the public keys of an issuer: https, no redirects, 256 KiB and 5 s at most. */
import { readCappedText } from "../kit/capped_text.ts";
import { describeCause } from "../kit/fetch_failure.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { TokenRefused } from "./token_refused.ts";

const MAX_KEYS_BYTES = 256 * 1024;
const FETCH_TIMEOUT_MS = 5_000;

/** Sends a request, as `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Returns the body of a 200. Errors: `TokenRefused`. */
export async function fetchKeys(url: string, send: Fetch): Promise<string> {
  let text: string | undefined;
  try {
    text = await runWithTimeLimit(async (signal) => {
      // "manual", since Workers know no "error": a redirect is then no 200.
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
    throw noKeys(`${url}: ${describeCause(error)}`);
  }
  if (text === undefined) throw noKeys(`${url} answers more than ${MAX_KEYS_BYTES} bytes`);
  return text;
}

/** A token cannot be verified since the keys of its issuer are not known. */
export const noKeys = (detail: string): TokenRefused =>
  new TokenRefused("the keys of its issuer could not be fetched", `no keys from ${detail}`);
