/** Settings of a serverless host; those that `ui_server` has too have the same names. */
import type { Deps, ProductOptions } from "../deps.ts";
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import { webhookAdapter } from "../targets/webhook.ts";
import type { Identity } from "../changes/runtime.ts";
import { readIdentityFile } from "../identity/identity_file.ts";
import { personTokenVerifier } from "../identity/person_token.ts";
import { MAX_CALL_TIMEOUT_S, MAX_CALLS_PER_HOUR } from "../llm/bounds.ts";
import { gateTokenVerifier, readGateIssuers } from "../identity/gate_issuers.ts";
import { SecretRejected } from "../kit/webhook_signature.ts";

/** Settings of `ui_server` that need files, with the alternative on these hosts. */
const NEEDS_FILES = {
  SVC_TARGETS: "name a webhook in SVC_PRODUCT_ADAPTER, or run ui_server",
  SVC_PRODUCT_CONFIG: "name a webhook in SVC_PRODUCT_ADAPTER, or run ui_server",
  SVC_GATE_ISSUERS: "put the file's content into SVC_GATE_ISSUERS_JSON",
  SVC_IDENTITY_JWT: "put the file's content into SVC_IDENTITY_JWT_JSON",
};

/** The setting is malformed; the message names it and its rule, and never repeats a secret. */
export class SettingInvalid extends Error {
  override readonly name = "SettingInvalid";
}

/** Settings of a service. All are optional; without an intent the product runtime is off. */
export type Settings = ProductOptions &
  Pick<
    Deps,
    | "adminToken"
    | "allowAnonymousWrites"
    | "protectAll"
    | "protectReads"
    | "readToken"
    | "identityHeader"
    | "identityToken"
    | "gateTokens"
    | "ofrepTenant"
    | "allowedHosts"
    | "publicUrl"
    | "llmCallsPerHour"
    | "llmTimeout"
  >;

/** Reads the settings. `adapter` stands in for the webhook that they name. Errors: `SettingInvalid`. */
export function parseSettings(
  env: Readonly<Record<string, unknown>>,
  { clock, adapter }: Pick<Deps, "clock"> & { adapter?: ProductAdapter | undefined },
): Settings {
  const text = (name: string): string | undefined => {
    const value = env[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const flag = (name: string, fallback: "0" | "1"): boolean => {
    const value = text(name) ?? fallback;
    if (!["0", "1", "false", "true"].includes(value)) throw new SettingInvalid(`${name} must be 1 or 0`);
    return value === "1" || value === "true";
  };
  const [adminToken, readToken] = [text("SVC_ADMIN_TOKEN"), text("SVC_READ_TOKEN")];
  if (readToken !== undefined && readToken === adminToken)
    throw new SettingInvalid("SVC_READ_TOKEN must not be SVC_ADMIN_TOKEN: who may read could write");
  for (const [name, alternative] of Object.entries(NEEDS_FILES))
    if (text(name) !== undefined)
      throw new SettingInvalid(`${name} is not supported on this host, which has no files; ${alternative}`);
  const url = text("SVC_PRODUCT_ADAPTER");
  const secret = text("SVC_ADAPTER_SECRET");
  return {
    intent: text("SVC_PRODUCT_INTENT_JSON"),
    node_id: text("SVC_NODE_ID") ?? text("SVC_AGENT_ID"),
    instance_id: text("SVC_INSTANCE_ID"),
    adapter: adapter ?? ((identity) => createWebhook(url, secret, identity, clock)),
    adminToken: requireLongToken("SVC_ADMIN_TOKEN", adminToken),
    allowAnonymousWrites: flag("SVC_ALLOW_ANONYMOUS_WRITES", "0"),
    // These hosts are reachable from the internet, so reads are protected unless that is switched off.
    protectAll: flag("SVC_PROTECT_ALL", "1"),
    protectReads: flag("SVC_PROTECT_READS", "1"),
    readToken: requireLongToken("SVC_READ_TOKEN", readToken),
    identityHeader: text("SVC_IDENTITY_HEADER")?.toLowerCase(),
    identityToken: parseJsonSetting(env, "SVC_IDENTITY_JWT_JSON", (file) =>
      personTokenVerifier(readIdentityFile(file), { clock }),
    ),
    gateTokens: parseJsonSetting(env, "SVC_GATE_ISSUERS_JSON", (file) =>
      gateTokenVerifier(readGateIssuers(file), { clock }),
    ),
    ofrepTenant: text("SVC_OFREP_TENANT"),
    allowedHosts: (text("SVC_ALLOWED_HOSTS") ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ""),
    publicUrl: parseConsoleAddress(text("SVC_PUBLIC_URL")),
    llmCallsPerHour: parseInteger("SVC_LLM_CALLS_PER_HOUR", text("SVC_LLM_CALLS_PER_HOUR"), MAX_CALLS_PER_HOUR),
    llmTimeout: parseInteger("SVC_LLM_TIMEOUT", text("SVC_LLM_TIMEOUT"), MAX_CALL_TIMEOUT_S),
  };
}

/** Parses a setting that contains a file as text, or as the value that wrangler parsed; undefined if it is not set. */
function parseJsonSetting<T>(
  env: Readonly<Record<string, unknown>>,
  name: string,
  parse: (text: string) => T,
): T | undefined {
  const value = env[name];
  if (value === undefined || value === "") return undefined;
  try {
    return parse(typeof value === "string" ? value : JSON.stringify(value));
  } catch (error) {
    throw new SettingInvalid(`${name} ${(error as Error).message}`);
  }
}

function parseInteger(name: string, value: string | undefined, max: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value) && Number(value) >= 1 && Number(value) <= max) return Number(value);
  throw new SettingInvalid(`${name} must be a whole number from 1 to ${max}`);
}

/** Parses the address at which people open the console. */
function parseConsoleAddress(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  if (!/^https?:\/\/[^?#@]+$/i.test(address) || !URL.canParse(address))
    throw new SettingInvalid("SVC_PUBLIC_URL must be an http or https address without a password, ? and #");
  return address.replace(/\/+$/, "");
}

/** Requires at least 16 characters, since anybody on the internet can guess as often as they like. */
function requireLongToken(name: string, token: string | undefined): string | undefined {
  if (token !== undefined && token.length < 16) throw new SettingInvalid(`${name} needs 16 characters or more`);
  return token;
}

/** Creates the adapter of the host product's webhook, if an address is set; see docs/webhook_adapter.md. */
function createWebhook(
  url: string | undefined,
  secret: string | undefined,
  { product_id, instance_id }: Identity,
  clock: Deps["clock"],
): ProductAdapter | undefined {
  if (url === undefined) return undefined;
  if (secret === undefined)
    throw new SettingInvalid("SVC_PRODUCT_ADAPTER needs SVC_ADAPTER_SECRET, which signs what is sent");
  try {
    return webhookAdapter({ url, secret, product_id, instance_id, clock });
  } catch (error) {
    if (error instanceof SecretRejected) throw new SettingInvalid(`SVC_ADAPTER_SECRET ${error.message}`);
    throw new SettingInvalid(`SVC_PRODUCT_ADAPTER ${(error as Error).message}`);
  }
}
