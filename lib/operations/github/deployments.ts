/** Deployments on GitHub that wait for an answer. Each is stored before its delivery is acknowledged, until it is answered. */
import { isGate } from "../../changes/gate/ask_gate.ts";
import { type ProductAdapter, ignoreUncovered } from "../../changes/operations/adapter_port.ts";
import type { DeploymentRequest } from "../../github/delivery.ts";
import type { GithubGate } from "../../github/gate.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { DAY_MS } from "../../kit/days.ts";
import { invalidField } from "../../kit/errors.ts";
import type { Store } from "../../store/store.ts";
import type { OperationsDeps } from "../deps.ts";

declare module "../../store/store.ts" {
  interface Collections {
    github_waiting: WaitingDeployment;
    github_answered: { answer: DeploymentAnswer; at: number };
  }
}

/** The end of a deployment; `expired`: GitHub no longer waits; `gone`: GitHub accepts no answer. */
export type DeploymentAnswer = "approved" | "rejected" | "expired" | "gone";

/** A deployment without an answer. Times in milliseconds since the epoch. */
export interface WaitingDeployment extends Omit<DeploymentRequest, "callback"> {
  /** Name of the gate's target system. */
  gate: string;
  received: number;
  /** Time of the next attempt. */
  due: number;
  /** Consecutive failed attempts to answer. */
  failures: number;
  /** Number of comments on the reasons to wait, and the last of them (`reported`). */
  reports: number;
  reported: string;
}

/** Longest time that GitHub lets a deployment wait. */
export const MAX_WAIT_MS = 30 * DAY_MS;
/** Maximum number of answers that are removed in one pass. */
const MAX_FORGOTTEN = 50;

/** Returns the target of a deployment. */
export const deploymentTarget = ({
  repository_id,
  environment,
}: Pick<DeploymentRequest, "repository_id" | "environment">): string => `deploy/${repository_id}/${environment}`;

/**
 * Stores a deployment that requests a decision, once however often it is delivered. `gates`: those whose secret signed it.
 * Returns false for a delivery that requests none. Errors: 400 `invalid_field`.
 */
export async function acceptDeployment(
  { store, clock, sha256, product }: OperationsDeps,
  gates: readonly GithubGate[],
  read: (api: string) => DeploymentRequest | undefined,
): Promise<boolean> {
  const request = read(gates[0]!.app.api);
  if (!request) return false;
  const target = deploymentTarget(request);
  const gate = gates.find((candidate) => isCovered(product!.adapter!, candidate, target));
  if (!gate) throw invalidField("environment", `makes ${target}, which no gate with this secret covers`);
  const { callback, ...details } = request;
  const { deployment_id, run_id, repository_id, environment, head } = details;
  const facts = canonicalJson({ callback, run_id, repository_id, environment, head });
  // GitHub's ids rise, so the oldest deployments come first; 16 digits fit every safe integer.
  const id = `${String(deployment_id).padStart(16, "0")}\n${sha256(facts)}`;
  const now = clock.now();
  await store.transact(async (tx) => {
    if ((await tx.get("github_waiting", id)) || (await tx.get("github_answered", id))) return;
    const initial = { gate: gate.name, received: now, due: now, failures: 0, reports: 0, reported: "" };
    // The revision 0: the record must not exist.
    tx.put("github_waiting", id, { ...details, ...initial }, 0);
  });
  return true;
}

/** Returns true if a gate covers the releases of a target. */
const isCovered = (adapter: ProductAdapter, { name, tenant_id }: GithubGate, target: string): boolean =>
  ignoreUncovered(() => {
    const entry = { tenant_id, target, kind: "config", value: undefined } as const;
    return isGate(adapter, entry) && (adapter.locate?.(entry).system ?? name) === name;
  }) ?? false;

/** Claims a deployment for this process until `until`; undefined if another process has it, or it is answered. */
export const claimDeployment = (
  store: Store,
  id: string,
  { due, until }: { due: number; until: number },
): Promise<WaitingDeployment | undefined> =>
  store.transact(async (tx) => {
    const stored = (await tx.get("github_waiting", id))?.value;
    if (stored?.due !== due) return undefined;
    const claimed = { ...stored, due: until };
    tx.put("github_waiting", id, claimed);
    return claimed;
  });

/** Updates a deployment that continues to wait. */
export const postponeDeployment = (store: Store, id: string, changed: Partial<WaitingDeployment>): Promise<void> =>
  store.transact(async (tx) => {
    const stored = (await tx.get("github_waiting", id))?.value;
    if (stored) tx.put("github_waiting", id, { ...stored, ...changed });
  });

/** Stores the answer that GitHub accepted, or why there is none. */
export const closeDeployment = (store: Store, id: string, answer: DeploymentAnswer, at: number): Promise<void> =>
  store.transact((tx) => {
    tx.delete("github_waiting", id);
    tx.put("github_answered", id, { answer, at });
  });

/** Removes old answers, of deployments that GitHub no longer delivers. */
export async function removeOldAnswers(store: Store, now: number): Promise<void> {
  const oldest = await store.list("github_answered", { limit: MAX_FORGOTTEN });
  const old = oldest.filter(({ value }) => now - value.at > MAX_WAIT_MS);
  if (old.length > 0) await store.transact((tx) => old.forEach(({ id }) => tx.delete("github_answered", id)));
}
