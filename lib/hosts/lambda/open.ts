/** Composes the service for one function from its environment: settings, secrets, the DynamoDB table, the product. */
import { verifyNewestEntries } from "../../audit/verify.ts";
import { createDeps, type Deps } from "../../deps.ts";
import type { ProductAdapter } from "../../changes/operations/adapter_port.ts";
import { IdentityMismatch, openProduct } from "../../changes/open_product.ts";
import { findSubjects } from "../../changes/subjects.ts";
import { once } from "../../kit/once.ts";
import { type Log, wallClock } from "../../kit/platform.ts";
import { dynamoDbStore } from "../../store/dynamodb/store.ts";
import { loadAuditKey } from "../audit_key.ts";
import { functionCapabilities, tokenCapability } from "../capabilities.ts";
import { parseSettings } from "../settings.ts";
import { readCredentials, type Environment, readRegion, requireVariable } from "./environment.ts";
import type { Access } from "./groups.ts";
import { addIntent } from "./intent_address.ts";
import { addSecrets } from "./secrets.ts";

/** Time after which an instance fetches its secrets and intent again, so that replaced ones take effect. */
const FETCHED_TTL_MS = 10 * 60_000;

/** Newest entries that each instance verifies before it answers: one page of the table. */
const CHECKED_ENTRIES = 200;

/** Seconds; API Gateway answers 503 after 29, and a waiting function costs money. */
const MAX_WAIT_S = 20;

/** Creates dependencies that only some functions need. */
export type Parts = (env: Environment, deps: Deps) => Promise<Partial<Deps>>;

/**
 * Composes the dependencies of a function's handlers. Fetches the secrets, and the intent if the function uses the store.
 * Credentials are read from `env` for each request to AWS, since they may change. Errors: `SettingInvalid`, `IntentInvalid`.
 */
export async function composeLambda(env: Environment, access: Access, log: Log, parts?: Parts): Promise<Deps> {
  const withSecrets = await addSecrets(env);
  // A function without a store needs no product, and may not be allowed to read the intent.
  const variables = access === "none" ? withSecrets : await addIntent(withSecrets);
  const endpoint = env["AWS_ENDPOINT_URL_DYNAMODB"];
  const store = dynamoDbStore({
    table: requireVariable(env, "SVC_DYNAMODB_TABLE"),
    region: readRegion(env),
    credentials: () => readCredentials(env),
    ...(endpoint && { endpoint }),
  });
  const clock = wallClock;
  const writes = access === "write";
  const settings = parseSettings(variables, {
    clock,
    adapter: writes || !variables["SVC_PRODUCT_ADAPTER"] ? undefined : readOnlyAdapter,
  });
  const pem = variables["SVC_AUDIT_KEY_PEM"];
  const attestationPem = variables["SVC_ATTESTATION_KEY_PEM"];
  const deps = createDeps({
    ...settings,
    clock,
    store,
    log,
    maxWaitSeconds: MAX_WAIT_S,
    ...(pem && { checkpointSigner: await loadAuditKey(pem) }),
    ...(attestationPem && { attestationSigner: await loadAuditKey(attestationPem, "SVC_ATTESTATION_KEY_PEM") }),
    capabilities: [...functionCapabilities(variables), tokenCapability(settings)],
  });
  return Object.assign(deps, await parts?.(variables, deps));
}

/** Opens the product on the table, without writing if the function may only read. Errors: `IdentityMismatch`, and those of the store. */
export const openTable = (deps: Deps, access: Access): Promise<void> =>
  access === "write" ? openProduct(deps, { tail: CHECKED_ENTRIES }) : openReadOnly(deps);

/** Returns a function that does `work` once, and again for the first call after the fetched settings are out of date. */
export function refreshAfterTtl<T>(env: Environment, work: () => Promise<T>): () => Promise<T> {
  let workOnce = once(work);
  let fetchedAt = Date.now();
  return () => {
    if ((env["SVC_SECRETS_ARN"] || env["SVC_PRODUCT_INTENT"]) && Date.now() - fetchedAt > FETCHED_TTL_MS) {
      workOnce = once(work);
      fetchedAt = Date.now();
    }
    return workOnce();
  };
}

/** Makes the checks of `openProduct` without writing: the first function that writes initializes a new table. */
async function openReadOnly(deps: Deps): Promise<void> {
  const { product, store } = deps;
  if (!product) return;
  const stored = (await store.get("meta", "identity"))?.value;
  const { product_id } = product.identity;
  if (stored && stored.product_id !== product_id)
    throw new IdentityMismatch(
      `the table belongs to product ${JSON.stringify(stored.product_id)}, the intent to ${JSON.stringify(product_id)}: product_id must match`,
    );
  await verifyNewestEntries(deps, { count: CHECKED_ENTRIES, findSubjects });
}

const rejectWrite = (): Promise<never> => Promise.reject(new Error("this function reads only"));

/** Stands for the configured adapter in functions that only read. */
const readOnlyAdapter: ProductAdapter = {
  name: "webhook",
  validate: rejectWrite,
  apply: rejectWrite,
  verify: rejectWrite,
  rollback: rejectWrite,
};
