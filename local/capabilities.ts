/** Lists the capabilities that this program's options enable, and the options that would enable the others. */
import { isBaseUrl, isNamedProvider } from "../lib/llm/provider.ts";
import type { Capability } from "../lib/operations/capability.ts";
import { isDatabase } from "./option_values.ts";
import type { Options } from "./options.ts";

/** Lists the host's capabilities. `uiProblem`: why the user interface cannot be served, or null. */
export function listCapabilities(options: Options, uiProblem: string | null): Capability[] {
  const available = (id: string, group: string): Capability => ({
    id,
    group,
    status: "available",
    reason: null,
    enable_with: null,
  });
  const disabled = (id: string, group: string, reason: string, option: string): Capability => ({
    id,
    group,
    status: "disabled",
    reason,
    enable_with: option,
  });

  const capability = (id: string, group: string, problem: string | null, option: string): Capability =>
    problem === null ? available(id, group) : disabled(id, group, problem, option);

  return [
    capability("ui", "host", uiProblem, "--ui-dir DIR"),
    capability("shared_store", "host", findStoreProblem(options), "--state postgres://user@host/database"),
    capability(
      "store_name",
      "host",
      findStoreNameProblem(options),
      "--state postgres://user@host/database --store-name NAME",
    ),
    capability("file_adapter", "product", findFileAdapterProblem(options), "--product-config PATH"),
    capability("webhook_adapter", "product", findWebhookProblem(options), "--product-adapter URL"),
    options.cycleInterval > 0
      ? available("cycle_timer", "host")
      : disabled("cycle_timer", "host", "cycles run on demand only", "--cycle-interval SECONDS"),
    options.identityToken || options.identityHeader
      ? available("proxy_identity", "access")
      : disabled(
          "proxy_identity",
          "access",
          "names are taken as requests give them",
          "--identity-jwt FILE or --identity-header NAME",
        ),
    ...(isLinkConfigured(options)
      ? []
      : [disabled("cross_link", "link", "not configured", "--cross-link-port PORT --cross-link-peers HOST:PORT,…")]),
    capability("llm", "chat", findLlmProblem(options), "--llm PROVIDER --llm-model MODEL --llm-key-env NAME"),
    capability("audit_key", "audit", options.auditKey ? null : "not configured", "--audit-key PATH"),
  ];
}

const findStoreProblem = ({ state }: Options): string | null =>
  isDatabase(state) ? null : "the state is in a file, which one process uses at a time";

/** Explains why the store has no name of its own; null where `--store-name` names one. */
function findStoreNameProblem({ state, storeName }: Options): string | null {
  if (!isDatabase(state)) return "the state is a file: its path is its name";
  return storeName === undefined ? "the database is used under the name countersign" : null;
}

const findFileAdapterProblem = ({ productConfig, productAdapter, targets, productIntent }: Options): string | null =>
  findAdapterProblem(productConfig, targets ? "--targets" : productAdapter && "--product-adapter", productIntent);

const findWebhookProblem = ({ productConfig, productAdapter, targets, productIntent }: Options): string | null =>
  findAdapterProblem(productAdapter, targets ? "--targets" : productConfig && "--product-config", productIntent);

function findAdapterProblem(
  configured: string | undefined,
  conflicting: string | undefined,
  intent: string | undefined,
) {
  if (configured) return intent ? null : "no product intent is given";
  return conflicting ? `${conflicting} is given instead` : "not configured";
}

/** Checks that this node takes part in a link, which then reports its own capability. */
const isLinkConfigured = ({ crossLinkPort, crossLinkPeers }: Options): boolean =>
  crossLinkPort !== undefined || crossLinkPeers.length > 0;

/** Explains why the options enable no language model; null where they do. */
export function findLlmProblem({ llm, llmModel, llmKeyEnv, llmKey }: Options): string | null {
  if (!llm) return "not configured; the built-in responder answers";
  if (!isNamedProvider(llm) && !isBaseUrl(llm))
    return "--llm names no known provider: openai, anthropic or a base URL is expected";
  if (!llmModel) return "--llm-model is missing";
  if (llmKeyEnv && !llmKey) return `the environment variable ${llmKeyEnv} is unset or empty`;
  return null;
}
