/** Opens the language model that a serverless host's settings name. */
import { openLlm } from "../llm/open.ts";
import type { Llm } from "../llm/port.ts";
import { findLlmProblem } from "./capabilities.ts";

/** Opens the model of `SVC_LLM` and `SVC_LLM_MODEL` with the key `SVC_LLM_KEY`; undefined if the settings name none. */
export async function openModel(env: Readonly<Record<string, unknown>>): Promise<Llm | undefined> {
  if (findLlmProblem(env) !== null) return undefined;
  const text = (name: string): string | undefined => (env[name] ? String(env[name]) : undefined);
  return openLlm({
    provider: text("SVC_LLM")!,
    model: text("SVC_LLM_MODEL")!,
    baseUrl: text("SVC_LLM_BASE_URL"),
    key: text("SVC_LLM_KEY"),
  });
}
