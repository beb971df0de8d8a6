/** The value of a release: the commit that other tools may deploy, and where. Pure. */
import { normalizeTarget } from "./target_key.ts";

/** A full commit id, or another digest of that length: 40 or 64 lower-case hex characters. */
export const HEAD_PATTERN = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Prefix of targets whose value must name repository and environment. */
const DEPLOY_PREFIX = "deploy/";

/** Returns true if a pattern may match a deployment. */
export function canMatchDeployment(pattern: string): boolean {
  // `deploy/7/*` has the prefix before its first `*`; `dep*` and `*` can match targets that have it.
  const [stem = ""] = normalizeTarget(pattern).split("*");
  return stem.startsWith(DEPLOY_PREFIX) || (pattern.includes("*") && DEPLOY_PREFIX.startsWith(stem));
}

/** Returns repository and environment of a deployment's target; undefined for any other target. */
export function parseDeployment(target: string): { repository_id: string; environment: string } | undefined {
  const [, repository_id, environment] = /^deploy\/([1-9]\d*)\/(.+)$/i.exec(target) ?? [];
  return repository_id !== undefined && environment !== undefined ? { repository_id, environment } : undefined;
}

/** Explains why a value is no release of its target; undefined if it is one. */
export function findReleaseProblem(target: string, value: unknown): string | undefined {
  const { head, repository_id, environment } = readMembers(value);
  if (!normalizeTarget(target).startsWith(DEPLOY_PREFIX))
    return typeof head === "string" && head !== "" ? undefined : "the value must be an object with head, a text";
  const deployment = parseDeployment(target);
  if (!deployment) return "a deployment's target is deploy/<repository id>/<environment>";
  if (typeof repository_id !== "number" || String(repository_id) !== deployment.repository_id)
    return `repository_id must be ${deployment.repository_id}, as in the target`;
  if (environment !== deployment.environment)
    return `environment must be ${JSON.stringify(deployment.environment)}, as in the target`;
  return typeof head === "string" && HEAD_PATTERN.test(head)
    ? undefined
    : "head must be a full commit id, 40 or 64 lower-case hex characters";
}

/** Returns the head of a release; undefined if the value is no release. */
export const findReleaseHead = (target: string, value: unknown): string | undefined =>
  findReleaseProblem(target, value) === undefined ? (readMembers(value).head as string) : undefined;

const readMembers = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
