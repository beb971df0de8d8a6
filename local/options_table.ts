/** Table of all options of `ui_server`: their parsing, variables and help text. */
import { checkWebhookUrl } from "../lib/targets/webhook.ts";
import { NOTIFY_FORMATS } from "../lib/operations/notify/format.ts";
import { CALL_TIMEOUT_S, CALLS_PER_HOUR, MAX_CALL_TIMEOUT_S, MAX_CALLS_PER_HOUR } from "../lib/llm/bounds.ts";
import * as read from "./option_values.ts";

/** One option; `fallback` is its value if it is not set. */
export interface Option<T = unknown> {
  flag: string;
  /** Word for the value in the help text. */
  placeholder: string;
  parse: (text: string) => T;
  fallback: T;
  help: string;
  /** True if no message may repeat its value. */
  secret?: boolean;
  /** True if the variable with the suffix `_FILE` may name a file that has the value. */
  fromFile?: boolean;
}

function option<T, F extends T | undefined>(
  usage: `${string} ${string}`,
  parse: (text: string) => T,
  fallback: F,
  help: string,
): Option<T | F> {
  const [flag = "", placeholder = ""] = usage.split(" ");
  return { flag, placeholder, parse, fallback, help };
}

const secretOption = <T>(spec: Option<T>): Option<T> => ({ ...spec, secret: true });

const parsePort = read.createIntegerParser(0, 65535);
const parseNames = read.createListParser(read.parseHostName);
const parsePeers = read.createListParser(read.parsePeerAddress);
const parseSecrets = read.createListParser(read.parseSecret);
const parseAddresses = read.createListParser(read.parsePageUrl);
const parseWitnessKeys = read.createListParser(read.parseWitnessKey);

/** The options, in the order of the help text. */
export const TABLE = {
  host: option(
    "host ADDRESS",
    read.parseHostAddress,
    "127.0.0.1",
    "listen here; beyond loopback SVC_ADMIN_TOKEN is needed",
  ),
  port: option("port PORT", parsePort, 8420, "listen on this port; 0 takes a free one"),
  allowedHosts: option("allowed-hosts NAME,…", parseNames, [], "further names that the Host header may carry"),
  identityHeader: option(
    "identity-header NAME",
    read.parseHeaderName,
    undefined,
    "header in which a trusted proxy names the person; approver and proposer must equal it",
  ),
  identityJwt: option(
    "identity-jwt FILE",
    read.parseText,
    undefined,
    "alternative: a JSON file with the header of the proxy's signed token, and its issuers; see docs/identity.md",
  ),
  gateIssuers: option(
    "gate-issuers FILE",
    read.parseText,
    undefined,
    "JSON file of the issuers whose tokens CI jobs present at release gates; see docs/gates.md",
  ),
  ofrepTenant: option(
    "ofrep-tenant ATTRIBUTE",
    read.parseText,
    undefined,
    "attribute of an OpenFeature context that names the tenant; its targeting key is then the user",
  ),
  state: secretOption(
    option(
      "state PATH-or-URL",
      read.parseStateAddress,
      "data/state.json",
      "state file, made with its folder; or a database that several processes share: postgres://user@host/database",
    ),
  ),
  storeName: option(
    "store-name NAME",
    read.parseStoreName,
    undefined,
    "name of the store in the database of --state, one for each product; default countersign",
  ),
  uiDir: option("ui-dir DIR", read.parseText, undefined, "user interface files, instead of the bundled ones"),
  evolvedDir: option(
    "evolved-dir DIR",
    read.parseText,
    undefined,
    "self-evolution files; evolved in the folder of state.json, evolved-NAME for NAME.json, with a database data/evolved or data/NAME/evolved",
  ),
  productIntent: option(
    "product-intent PATH",
    read.parseText,
    undefined,
    "enable the product runtime for this ProductIntent",
  ),
  productConfig: option(
    "product-config PATH",
    read.parseText,
    undefined,
    "enable the file adapter, which writes this JSON file",
  ),
  targets: option(
    "targets FILE",
    read.parseText,
    undefined,
    "JSON file of the target systems, by target and tenant; replaces --product-config and --product-adapter",
  ),
  productAdapter: secretOption(
    option(
      "product-adapter URL",
      checkWebhookUrl,
      undefined,
      "alternative: apply changes by signed HTTP requests to this URL; needs SVC_ADAPTER_SECRET",
    ),
  ),
  agentId: option("agent-id ID", read.parseText, "local", "default of --svc-node-id"),
  nodeId: option("svc-node-id ID", read.parseText, undefined, "node id; the value of --agent-id"),
  instanceId: option("svc-instance-id ID", read.parseText, undefined, "instance id; {product_id}@{node_id}"),
  crossLinkPort: option("cross-link-port PORT", parsePort, undefined, "accept peers on this TCP port; needs a secret"),
  crossLinkSecrets: secretOption(
    option(
      "cross-link-secret SECRET,…",
      parseSecrets,
      [],
      "HMAC secret of 16 characters or more; the first sends, all are accepted",
    ),
  ),
  crossLinkSecretFile: option(
    "cross-link-secret-file PATH",
    read.parseText,
    undefined,
    "file with that secret, or several, one a line",
  ),
  crossLinkPeers: option("cross-link-peers HOST:PORT,…", parsePeers, [], "peers to link with; needs a secret"),
  crossLinkHost: option(
    "cross-link-host ADDRESS",
    read.parseHostAddress,
    undefined,
    "address of the link; the value of --host",
  ),
  auditKey: option("audit-key PATH", read.parseText, undefined, "Ed25519 private key that signs checkpoints"),
  auditAnchor: option(
    "audit-anchor FILE-or-URL",
    read.parseText,
    undefined,
    "file or URL outside the service in which checkpoints are stored",
  ),
  auditOtlp: option(
    "audit-otlp URL",
    read.parsePageUrl,
    undefined,
    "OpenTelemetry collector that gets each audit entry as a log record; SVC_AUDIT_OTLP_HEADERS carries credentials",
  ),
  auditWitnesses: option(
    "audit-witness URL,…",
    parseAddresses,
    [],
    "witnesses that cosign checkpoints; needs --audit-key",
  ),
  auditWitnessKeys: option(
    "audit-witness-key KEY,…",
    parseWitnessKeys,
    [],
    "the verifier key of each, in the same order",
  ),
  attestationKey: option(
    "attestation-key PATH",
    read.parseText,
    undefined,
    "Ed25519 private key that signs attestations of changes in force; not the key of --audit-key",
  ),
  witnessFor: option(
    "witness-for FILE",
    read.parseText,
    undefined,
    "be a witness of these logs: a verifier key a line",
  ),
  witnessKey: option(
    "witness-key PATH",
    read.parseText,
    undefined,
    "Ed25519 private key that cosigns for them; not that of --audit-key",
  ),
  witnessName: option("witness-name NAME", read.parseKeyName, undefined, "name of this witness, as witness.example/w1"),
  llm: option(
    "llm PROVIDER",
    read.parseText,
    undefined,
    "openai, anthropic, or the base URL of an OpenAI-compatible server",
  ),
  llmBaseUrl: secretOption(
    option(
      "llm-base-url URL",
      read.parseLlmBaseUrl,
      undefined,
      "address of a gateway with the provider's API, used instead of the provider's own",
    ),
  ),
  llmModel: option("llm-model MODEL", read.parseText, undefined, "model of the provider"),
  llmKeyEnv: secretOption(
    option("llm-key-env NAME", read.parseVariableName, undefined, "environment variable that holds the provider's key"),
  ),
  llmCallsPerHour: option(
    "llm-calls-per-hour COUNT",
    read.createIntegerParser(1, MAX_CALLS_PER_HOUR),
    CALLS_PER_HOUR,
    "maximum calls of the model per hour; beyond it the built-in responder answers",
  ),
  llmTimeout: option(
    "llm-timeout SECONDS",
    read.createIntegerParser(1, MAX_CALL_TIMEOUT_S),
    CALL_TIMEOUT_S,
    "time limit of each call of the model; after it the built-in responder answers",
  ),
  notifyUrl: {
    ...secretOption(
      option(
        "notify-url URL",
        read.parseUrl,
        undefined,
        "URL for notifications of pending work and of changes; SVC_NOTIFY_URL_FILE names a file that contains it",
      ),
    ),
    fromFile: true,
  },
  notifyFormat: option(
    "notify-format FORMAT",
    read.createChoiceParser(NOTIFY_FORMATS),
    "json",
    "json: signed webhooks, needs SVC_NOTIFY_SECRET; slack, teams: their messages, whose address is the secret",
  ),
  publicUrl: option(
    "public-url URL",
    read.parsePageUrl,
    undefined,
    "public address of the console, such as https://gov.acme.example, for links in notifications and for agents",
  ),
  exitWhenReadOnly: option(
    "exit-when-read-only 0-or-1",
    read.createChoiceParser(["0", "1"]),
    "0",
    "1: exit with 1 after a failed sync of the state file, so that the supervisor restarts the service",
  ),
  cycleInterval: option("cycle-interval SECONDS", read.parseSeconds, 60, "time between cycles; 0: only on demand"),
};

/** The value of each option, or its fallback. */
export type OptionValues = { [K in keyof typeof TABLE]: (typeof TABLE)[K]["fallback"] };

/** Returns the variable of a flag: `--cross-link-secret` → `SVC_CROSS_LINK_SECRET`, `--svc-node-id` → `SVC_NODE_ID`. */
export const toVariableName = (flag: string): string =>
  `SVC_${flag.replace(/^svc-/, "").toUpperCase().replaceAll("-", "_")}`;

/** Returns the text of `--help`. */
export function helpText(): string {
  const options = Object.values(TABLE).flatMap(({ flag, placeholder, fallback, help }) => {
    const defaultText = fallback === undefined || Array.isArray(fallback) ? "" : `default ${fallback}, `;
    return [`  --${flag} ${placeholder}`, `      ${help} [${defaultText}${toVariableName(flag)}]`];
  });
  return [
    "Usage: ui_server [--name value | --name=value]…",
    "",
    "Governs changes to one product: propose, consent, apply, verify, roll back, on a hash-chained audit log.",
    "Each option can also be set by the environment variable next to it; a flag overrides its variable, and the last of repeated flags counts.",
    "",
    "Options:",
    ...options,
    "  --check-intent PATH",
    "      print the rules of this ProductIntent, or its errors, and exit; with --state also the scheduled changes and running rollouts of that store that would lack a consent",
    "  --scenarios PATH",
    "      with --check-intent: play these scenarios under it, and exit with 1 where one fails",
    "  --help, --version",
    "      print this text or the version, and exit",
    "",
    "Only from the environment; a variable with the suffix _FILE, such as SVC_ADMIN_TOKEN_FILE, names a file with the secret:",
    "  SVC_ADMIN_TOKEN",
    "      when set, product writes need the header X-Svc-Admin-Token with this value; 16 characters or more beyond loopback",
    "  SVC_ADAPTER_SECRET",
    "      signs the requests of --product-adapter; 16 characters or more, or whsec_ and base64",
    "  SVC_NOTIFY_SECRET",
    "      signs the webhooks of --notify-url in the format json; 16 characters or more, or whsec_ and base64",
    "  SVC_AUDIT_OTLP_HEADERS",
    "      headers of the requests of --audit-otlp: name=value,…",
    "  SVC_PROTECT_ALL",
    "      1: chat, tasks and feedback need the token too; the default beyond loopback",
    "  SVC_PROTECT_READS",
    "      1: reads need the admin token, the read token, an agent's secret or the person whom the proxy names",
    "  SVC_READ_TOKEN",
    "      opens reads and no write that needs a token, as Authorization: Bearer or X-Svc-Read-Token; 16 characters or more beyond loopback",
    "",
    "Exit codes: 0 normal; 1 the service cannot start or failed; 2 unknown or malformed option.",
  ].join("\n");
}
