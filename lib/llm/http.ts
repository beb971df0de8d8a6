/** One JSON exchange with a provider. */
import { readCappedText } from "../kit/capped_text.ts";
import { LlmFailed, abortError } from "./port.ts";

/** The largest answer that is read, in bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Returns the base of the protocol's own paths: a bare origin is completed with `/v1`. */
export function apiBase(url: string): string {
  const { pathname, origin } = new URL(url);
  return pathname === "/" ? `${origin}/v1` : url.replace(/\/+$/, "");
}

/**
 * Posts JSON and returns the JSON answered. Errors: `LlmFailed`, whose words never come from the provider: its messages
 * repeat prompts and keys. A redirect is an error, since the key would follow it.
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
    // Its answer is then no success. A Worker does not know "error".
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

const toLlmFailed = (error: unknown, signal: AbortSignal, reason: string): LlmFailed =>
  error instanceof LlmFailed ? error : signal.aborted ? abortError(signal) : new LlmFailed(reason);
