/** One JSON exchange with a provider. */
import { LlmFailed } from "./llm.ts";

/** The largest answer that is read, in bytes. */
const ANSWER_LIMIT = 1024 * 1024;

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
    redirect: "error",
    signal,
  }).catch((error: unknown) => {
    throw failed(error, signal, "unreachable");
  });
  if (!response.ok) {
    await response.body?.cancel().catch(() => undefined);
    throw new LlmFailed(`it answered HTTP ${response.status}`);
  }
  const text = await readCapped(response).catch((error: unknown) => {
    throw failed(error, signal, "its answer broke off");
  });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new LlmFailed("its answer is not JSON");
  }
}

const failed = (error: unknown, signal: AbortSignal, reason: string): LlmFailed =>
  error instanceof LlmFailed ? error : new LlmFailed(signal.aborted ? "no answer in time" : reason);

async function readCapped(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > ANSWER_LIMIT) {
      await reader!.cancel();
      throw new LlmFailed("its answer is too large");
    }
    text += decoder.decode(value, { stream: true });
  }
}
