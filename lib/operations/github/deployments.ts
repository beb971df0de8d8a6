/** Deployments on GitHub that wait for an answer. Each is stored before its delivery is acknowledged, and until it is answered. */
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

/** The last word on a deployment; `expired`: GitHub waits no longer; `gone`: GitHub takes no answer. */
export type DeploymentAnswer = "approved" | "rejected" | "expired" | "gone";

/** A deployment without an answer. Times in milliseconds since the epoch. */
export interface WaitingDeployment extends Omit<DeploymentRequest, "callback"> {
  /** Name of the gate's target system. */
  gate: string;
  received: number;
  /** Looked at again then. */
  due: number;
  /** Attempts to answer that failed, one after the other. */
  failures: number;
  /** Comments that said why it waits, and the last of them. */
  reports: number;
  reported: string;
}

/** GitHub lets a deployment wait so long. */
export const MAX_WAIT_MS = 30 * DAY_MS;
/** Answers that are removed in one pass. */
const MAX_FORGOTTEN = 50;

/** Returns the target of a deployment. */
export const deploymentTarget = ({
  repository_id,
  environment,
}: Pick<DeploymentRequest, "repository_id" | "environment">): string => `deploy/${repository_id}/${environment}`;

/**
 * Stores a deployment that asks for a decision, once however often it is delivered. `gates`: those whose secret signed it.
 * Returns false for a delivery that asks for none. Errors: 400 `invalid_field`.
 */
export async function acceptDeployment(
  { store, clock, sha256, product }: OperationsDeps,
  gates: readonly GithubGate[],
  read: (api: string) => DeploymentRequest | undefined,
): Promise<boolean> {
  const request = read(gates[0]!.app.api);
  if (!request) return false;
  const target = deploymentTarget(request);
  const gate = gates.find((one) => isCovered(product!.adapter!, one, target));
  if (!gate) throw invalidField("environment", `makes ${target}, which no gate with this secret covers`);
  const { callback, ...details } = request;
  const { deployment_id, run_id, repository_id, environment, head } = details;
  const facts = canonicalJson({ callback, run_id, repository_id, environment, head });
  // GitHub's ids rise: the oldest come first.
  const id = `${String(deployment_id).padStart(16, "0")}\n${sha256(facts)}`;
  const now = clock.now();
  await store.transact(async (tx) => {
    if ((await tx.get("github_waiting", id)) || (await tx.get("github_answered", id))) return;
    const fresh = { gate: gate.name, received: now, due: now, failures: 0, reports: 0, reported: "" };
    tx.put("github_waiting", id, { ...details, ...fresh }, 0);
  });
  return true;
}

/** Returns true where releases of a target are those of a gate. */
const isCovered = (adapter: ProductAdapter, { name, tenant_id }: GithubGate, target: string): boolean =>
  ignoreUncovered(() => {
    const entry = { tenant_id, target, kind: "config", value: undefined } as const;
    return isGate(adapter, entry) && (adapter.locate?.(entry).system ?? name) === name;
  }) ?? false;

/** Takes a deployment for this process until `until`; undefined where another has it, or it is answered. */
export const claimDeployment = (
  store: Store,
  id: string,
  { due, until }: { due: number; until: number },
): Promise<WaitingDeployment | undefined> =>
  store.transact(async (tx) => {
    const found = (await tx.get("github_waiting", id))?.value;
    if (found?.due !== due) return undefined;
    const claimed = { ...found, due: until };
    tx.put("github_waiting", id, claimed);
    return claimed;
  });

/** Stores what changed about a deployment that waits on. */
export const postponeDeployment = (store: Store, id: string, changed: Partial<WaitingDeployment>): Promise<void> =>
  store.transact(async (tx) => {
    const found = (await tx.get("github_waiting", id))?.value;
    if (found) tx.put("github_waiting", id, { ...found, ...changed });
  });

/** Stores the answer that GitHub took, or why there is none. */
export const closeDeployment = (store: Store, id: string, answer: DeploymentAnswer, at: number): Promise<void> =>
  store.transact((tx) => {
    tx.delete("github_waiting", id);
    tx.put("github_answered", id, { answer, at });
  });

/** Removes old answers: GitHub delivers nothing again that is older than its deployment may wait. */
export async function forgetAnswers(store: Store, now: number): Promise<void> {
  const oldest = await store.list("github_answered", { limit: MAX_FORGOTTEN });
  const old = oldest.filter(({ value }) => now - value.at > MAX_WAIT_MS);
  if (old.length > 0) await store.transact((tx) => old.forEach(({ id }) => tx.delete("github_answered", id)));
}
