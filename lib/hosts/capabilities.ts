/** Capabilities of the serverless hosts, with reasons for the missing ones. */
import { BASE_URL_RULE, isBaseUrl, isNamedProvider } from "../llm/provider.ts";
import type { Capability } from "../operations/capability.ts";

/** Settings of a host by name. */
type Environment = Readonly<Record<string, unknown>>;

/** Builds a row: available if `reason` is null, otherwise disabled for that reason until `enable_with` is set. */
const row = (id: string, group: string, reason: string | null, enable_with: string | null = null): Capability => ({
  id,
  group,
  status: reason === null ? "available" : "disabled",
  reason,
  enable_with: reason === null ? null : enable_with,
});

const reasonUnless = (condition: unknown, reason: string): string | null => (condition ? null : reason);

const proxyIdentity = (env: Environment): Capability => {
  const reason = reasonUnless(
    env["SVC_IDENTITY_JWT_JSON"] || env["SVC_IDENTITY_HEADER"],
    "names are taken as requests give them",
  );
  return row("proxy_identity", "access", reason, "SVC_IDENTITY_JWT_JSON or SVC_IDENTITY_HEADER");
};

/** The row of the admin token. Without a token a serverless host rejects writes, unless anonymous writes are allowed. */
export function tokenCapability(token: {
  adminToken?: string | undefined;
  allowAnonymousWrites?: boolean | undefined;
}): Capability {
  const noToken = "no token is configured, so every write is rejected";
  const reason = reasonUnless(token.adminToken, token.allowAnonymousWrites ? "writes need no token" : noToken);
  return row("admin_token", "access", reason, "SVC_ADMIN_TOKEN");
}

/** The row of the language model. */
const languageModel = (env: Environment): Capability =>
  row("llm", "chat", findLlmProblem(env), "SVC_LLM, SVC_LLM_MODEL, SVC_LLM_KEY");

/** Capabilities of a Worker. `adapter`, `notify`: true if configured; then the service itself reports their rows. */
export function workerCapabilities(
  env: Environment,
  { adapter, notify }: { adapter: boolean; notify: boolean },
): Capability[] {
  const adapterRow = row(
    "product_adapter",
    "product",
    "approved changes are recorded, and set on no target system",
    "SVC_PRODUCT_ADAPTER",
  );
  return [
    ...(adapter ? [] : [adapterRow]),
    row("ui", "host", reasonUnless(env["ASSETS"], "no assets are bound"), "assets binding ASSETS"),
    row("cycle_timer", "host", null),
    row("process_metrics", "host", "a Worker has no figures of a process; those of the product are there"),
    ...(notify ? [] : [row("notifications", "host", "not configured", "SVC_NOTIFY_URL, SVC_NOTIFY_SECRET")]),
    proxyIdentity(env),
    row("cross_link", "link", "a Worker accepts no TCP connections"),
    languageModel(env),
    row("audit_key", "audit", reasonUnless(env["SVC_AUDIT_KEY_PEM"], "not configured"), "SVC_AUDIT_KEY_PEM"),
    row("audit_anchor", "audit", "this host has none; fetch checkpoints and keep them elsewhere"),
    row("audit_witness", "audit", "this host asks none"),
    row("witness", "audit", "this host watches no other log"),
  ];
}

/** Capabilities of a Lambda function, of which nothing runs between requests. */
export function functionCapabilities(env: Environment): Capability[] {
  const timerReason = reasonUnless(Number(env["SVC_CYCLE_INTERVAL"] ?? 0) > 0, "no schedule runs cycles");
  const keyReason = reasonUnless(env["SVC_AUDIT_KEY_PEM"], "not configured for this function");
  return [
    row("cycle_timer", "host", timerReason, "a schedule for the function cycle; SVC_CYCLE_INTERVAL"),
    languageModel(env),
    proxyIdentity(env),
    row("event_stream", "host", "a function sends each answer as a whole, so GET /api/events is 404"),
    row("cross_link", "link", "a function holds no connection to a peer"),
    row("evolved_files", "learning", "a function keeps no files"),
    row("process_metrics", "host", "the figures of one instance are not those of the service"),
    row("notifications", "host", "nothing runs between requests"),
    row("audit_otlp", "audit", "nothing runs between requests"),
    row(
      "ui",
      "host",
      reasonUnless(env["SVC_CONSOLE"], "no function serves the console"),
      "a function console; SVC_CONSOLE",
    ),
    row("audit_key", "audit", keyReason, "SVC_AUDIT_KEY_PEM"),
    row("audit_anchor", "audit", "checkpoints are kept in the table only"),
    row("audit_witness", "audit", "this host asks none"),
    row("witness", "audit", "this host watches no other log"),
  ];
}

/** Returns the reason why no language model can be called, or null. The key is not checked. */
export function findLlmProblem(env: Environment): string | null {
  const provider = env["SVC_LLM"];
  if (!provider) return "not configured; the built-in responder answers";
  if (!isNamedProvider(provider) && !isBaseUrl(String(provider)))
    return "SVC_LLM names no known provider: openai, anthropic or a base URL is expected";
  const baseUrl = env["SVC_LLM_BASE_URL"];
  if (baseUrl && !isNamedProvider(provider)) return "SVC_LLM_BASE_URL goes with SVC_LLM openai or anthropic";
  if (baseUrl && !isBaseUrl(String(baseUrl))) return `SVC_LLM_BASE_URL ${BASE_URL_RULE}`;
  return reasonUnless(env["SVC_LLM_MODEL"], "SVC_LLM_MODEL is missing");
}
