/** Requests to the JSON API of a provider. */
import { readCappedText } from "../kit/capped_text.ts";
import { LlmFailed, abortError } from "./port.ts";

const MAX_ANSWER_BYTES = 1024 * 1024;

/** Returns the base of the API's paths, without a slash at its end; `/v1` is appended to an address without a path. */
export function apiBase(url: string): string {
  const { pathname, origin } = new URL(url);
  return pathname === "/" ? `${origin}/v1` : url.replace(/\/+$/, "");
}

/**
 * Posts JSON and returns the JSON of the answer. Errors: `LlmFailed`, whose message never quotes the provider, which may repeat
 * prompts and keys. A redirect is an error, since its target would receive the key.
 */
export async function postJson(
  url: string,
  headers: Record<string, string>,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify(body),
    // A redirect then fails the check of the status. Workers do not support "error".
    redirect: "manual",
    signal,
  }).catch((error: unknown) => {
    throw toLlmFailed(error, signal, "unreachable");
  });
  if (!response.ok) {
    await response.body?.cancel().catch(() => undefined);
    throw new LlmFailed(`it answered HTTP ${response.status}`);
  }
  const text = await readCappedText(response, MAX_ANSWER_BYTES).catch((error: unknown) => {
    throw toLlmFailed(error, signal, "its answer broke off");
  });
  if (text === undefined) throw new LlmFailed("its answer is too large");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new LlmFailed("its answer is not JSON");
  }
}

/** Returns the error of a failed call; `reason` describes a failure that was no abort. */
function toLlmFailed(error: unknown, signal: AbortSignal, reason: string): LlmFailed {
  // A call that was aborted with an `LlmFailed` fails with this reason.
  if (error instanceof LlmFailed) return error;
  return signal.aborted ? abortError(signal) : new LlmFailed(reason);
}
