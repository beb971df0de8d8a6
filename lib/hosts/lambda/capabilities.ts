/** What a function can do, and what it cannot since it lives from one request to the next. */
import type { Capability } from "../../pulse/capability.ts";
import type { Environment } from "./environment.ts";

/** The host's part of the capability map. */
export function capabilitiesOf(env: Environment): Capability[] {
  const scheduled = Number(env["SVC_CYCLE_INTERVAL"] ?? 0) > 0;
  return [
    row(
      "cycle_timer",
      "host",
      scheduled ? null : "no schedule runs cycles",
      "a schedule for the function cycle; SVC_CYCLE_INTERVAL",
    ),
    row("llm", "chat", llmProblem(env), "SVC_LLM, SVC_LLM_MODEL, SVC_LLM_KEY"),
    row(
      "proxy_identity",
      "access",
      env["SVC_IDENTITY_HEADER"] ? null : "names are taken as requests give them",
      "SVC_IDENTITY_HEADER",
    ),
    row("event_stream", "host", "a function answers whole, so GET /api/events is 404", null),
    row("cross_link", "link", "a function holds no connection to a peer", null),
    row("evolved_files", "learning", "a function keeps no files", null),
    row("process_metrics", "host", "the figures of one instance are not those of the service", null),
    row("notifications", "host", "nothing runs between requests", null),
    row("ui", "host", "this host serves the API only", null),
    row(
      "audit_key",
      "audit",
      env["SVC_AUDIT_KEY_PEM"] ? null : "not configured for this function",
      "SVC_AUDIT_KEY_PEM",
    ),
    row("audit_anchor", "audit", "checkpoints are kept in the table only", null),
  ];
}

/** Why no language model can be asked, or null. The key is looked for only where it is used. */
export function llmProblem(env: Environment): string | null {
  const provider = env["SVC_LLM"];
  if (!provider) return "not configured; the built-in responder answers";
  if (!["openai", "anthropic"].includes(provider) && !/^https?:\/\/[^/]/.test(provider))
    return "SVC_LLM names no known provider: openai, anthropic or a base URL is expected";
  return env["SVC_LLM_MODEL"] ? null : "SVC_LLM_MODEL is missing";
}

const row = (id: string, group: string, reason: string | null, enable_with: string | null): Capability => ({
  id,
  group,
  status: reason === null ? "available" : "disabled",
  reason,
  enable_with: reason === null ? null : enable_with,
});
