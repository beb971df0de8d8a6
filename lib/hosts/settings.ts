/** What a serverless host is told by its environment: the names that `ui_server` has, where both have the setting. */
import type { Deps } from "../deps.ts";
import type { Capability } from "../pulse/capability.ts";
import type { ProductAdapter } from "../governance/adapters/port.ts";
import { loadIntent } from "../governance/rules/intent.ts";
import { identityOf } from "../governance/open.ts";
import type { ProductRuntime } from "../governance/runtime.ts";
import { webhookAdapter } from "../governance/adapters/webhook.ts";
import { SecretRefused } from "../kit/webhook_signature.ts";

/** Settings of a host. All are optional; without `intent` the product runtime is off. */
export interface HostSettings {
  /** The product intent, as the JSON text of the file that `ui_server --product-intent` reads. */
  intent?: string | undefined;
  nodeId?: string | undefined;
  instanceId?: string | undefined;
  adminToken?: string | undefined;
  /** True: takes writes although no admin token is configured. */
  allowAnonymousWrites?: boolean | undefined;
  protectAll?: boolean | undefined;
  identityHeader?: string | undefined;
  allowedHosts?: string[] | undefined;
  /** Address and secret of the host product's webhook; see docs/webhook_adapter.md. */
  adapterUrl?: string | undefined;
  adapterSecret?: string | undefined;
}

/** The setting is malformed; the message names it and its rule, and never repeats a secret. */
export class SettingRefused extends Error {
  override readonly name = "SettingRefused";
}

/** Reads the settings. Errors: `SettingRefused`. */
export function readSettings(env: Readonly<Record<string, unknown>>): HostSettings {
  const text = (name: string): string | undefined => {
    const value = env[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const flag = (name: string): boolean => {
    const value = text(name) ?? "0";
    if (!["0", "1", "false", "true"].includes(value)) throw new SettingRefused(`${name} must be 1 or 0`);
    return value === "1" || value === "true";
  };
  return {
    intent: text("SVC_PRODUCT_INTENT_JSON"),
    nodeId: text("SVC_NODE_ID") ?? text("SVC_AGENT_ID"),
    instanceId: text("SVC_INSTANCE_ID"),
    adminToken: text("SVC_ADMIN_TOKEN"),
    allowAnonymousWrites: flag("SVC_ALLOW_ANONYMOUS_WRITES"),
    protectAll: flag("SVC_PROTECT_ALL"),
    identityHeader: text("SVC_IDENTITY_HEADER")?.toLowerCase(),
    allowedHosts: text("SVC_ALLOWED_HOSTS")
      ?.split(",")
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ""),
    adapterUrl: text("SVC_PRODUCT_ADAPTER"),
    adapterSecret: text("SVC_ADAPTER_SECRET"),
  };
}

/** What handlers are given of the settings. Errors: `IntentInvalid`, `SettingRefused`. */
export function depsOf(
  settings: HostSettings,
  { sha256, clock, adapter }: Pick<Deps, "sha256" | "clock"> & { adapter?: ProductAdapter | undefined },
): Partial<Deps> {
  const { adminToken, allowAnonymousWrites = false, protectAll, identityHeader, allowedHosts = [] } = settings;
  const product = settings.intent === undefined ? undefined : runtimeOf(settings, settings.intent);
  return {
    adminToken,
    allowAnonymousWrites,
    protectAll,
    identityHeader,
    allowedHosts,
    capabilities: [tokenCapability(settings)],
    ...(product && { product }),
  };

  function runtimeOf({ nodeId = "local", instanceId }: HostSettings, text: string): ProductRuntime {
    const manifest = loadIntent(text, sha256);
    const identity = identityOf(manifest.intent.product_id, nodeId, instanceId);
    const carries = adapter ?? webhookOf(settings, identity, clock);
    return { ...manifest, identity, ...(carries && { adapter: carries }) };
  }
}

function webhookOf(
  { adapterUrl: url, adapterSecret: secret }: HostSettings,
  { product_id, instance_id }: ProductRuntime["identity"],
  clock: Deps["clock"],
): ProductAdapter | undefined {
  if (url === undefined) return undefined;
  if (secret === undefined)
    throw new SettingRefused("SVC_PRODUCT_ADAPTER needs SVC_ADAPTER_SECRET, which signs what is sent");
  try {
    return webhookAdapter({ url, secret, product_id, instance_id, clock });
  } catch (error) {
    if (error instanceof SecretRefused) throw new SettingRefused(`SVC_ADAPTER_SECRET ${error.message}`);
    throw new SettingRefused(`SVC_PRODUCT_ADAPTER ${(error as Error).message}`);
  }
}

/** The row of the admin token in the capability map: without one such a host takes no writes, unless it is told to. */
export function tokenCapability({ adminToken, allowAnonymousWrites }: HostSettings): Capability {
  const row = { id: "admin_token", group: "access" };
  if (adminToken) return { ...row, status: "available", reason: null, enable_with: null };
  const reason = allowAnonymousWrites ? "writes need no token" : "no token is configured, so every write is refused";
  return { ...row, status: "disabled", reason, enable_with: "SVC_ADMIN_TOKEN" };
}
