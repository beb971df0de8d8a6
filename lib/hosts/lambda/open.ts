/** Composes the service for one function from its environment: settings, secrets, the DynamoDB table, the product. */
import { verifyNewestEntries } from "../../audit/verify.ts";
import { createDeps, type Deps } from "../../deps.ts";
import type { ProductAdapter } from "../../changes/operations/adapter_port.ts";
import { IdentityMismatch, openProduct } from "../../changes/open.ts";
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

/** After so long an instance fetches its secrets and intent again, so that one that was replaced does not live on in it. */
const FETCHED_TTL_MS = 10 * 60_000;

/** The newest entries that each instance checks before it answers: one page of the table. */
const CHECKED_ENTRIES = 200;

/** An API answers 503 after 29 seconds, and a function that only waits is paid for; seconds. */
const MAX_WAIT_S = 20;

/** Dependencies that a function adds to those of every handler. */
export type Parts = (env: Environment, deps: Deps) => Promise<Partial<Deps>>;

/**
 * Composes what a function gives its handlers; AWS is asked for the secrets, and for the intent where the store is used.
 * `env` is read again for each request to AWS, since the keys of the role may change. Errors: `SettingInvalid`, `IntentInvalid`.
 */
export async function composeLambda(env: Environment, access: Access, log: Log, parts?: Parts): Promise<Deps> {
  const secret = await addSecrets(env);
  // A function without a store needs no product, and may not be allowed to read the intent.
  const variables = access === "none" ? secret : await addIntent(secret);
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
  const attesting = variables["SVC_ATTESTATION_KEY_PEM"];
  const deps = createDeps({
    ...settings,
    clock,
    store,
    log,
    maxWaitSeconds: MAX_WAIT_S,
    ...(pem && { checkpointSigner: await loadAuditKey(pem) }),
    ...(attesting && { attestationSigner: await loadAuditKey(attesting, "SVC_ATTESTATION_KEY_PEM") }),
    capabilities: [...functionCapabilities(variables), tokenCapability(settings)],
  });
  return Object.assign(deps, await parts?.(variables, deps));
}

/** Opens the product on the table, as far as the function may. Errors: `IdentityMismatch`, and those of the store. */
export const openTable = (deps: Deps, access: Access): Promise<void> =>
  access === "write" ? openProduct(deps, { tail: CHECKED_ENTRIES }) : openToRead(deps);

/** Work on fetched data: done once, and again for a request after the data is ten minutes old. */
export function refreshAfterTtl<T>(env: Environment, work: () => Promise<T>): () => Promise<T> {
  let done = once(work);
  let readAt = Date.now();
  return () => {
    if ((env["SVC_SECRETS_ARN"] || env["SVC_PRODUCT_INTENT"]) && Date.now() - readAt > FETCHED_TTL_MS) {
      done = once(work);
      readAt = Date.now();
    }
    return done();
  };
}

/** Checks what `openProduct` checks, and writes nothing: a new table is begun by the first function that writes. */
async function openToRead(deps: Deps): Promise<void> {
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

/** The adapter where it is only spoken of. */
const readOnlyAdapter: ProductAdapter = {
  name: "webhook",
  validate: rejectWrite,
  apply: rejectWrite,
  verify: rejectWrite,
  rollback: rejectWrite,
};
