/** Identifies and admits the caller of a request before its body is read. */
import type { Identity } from "../changes/caller.ts";
import { createOwnReadsError } from "../changes/read_scope.ts";
import { AppError } from "../kit/errors.ts";
import type { HttpDeps } from "./deps.ts";
import { hasAdminToken, rejectAnonymousWrites, requireSameSite, requireToken } from "./guards.ts";
import { findTokenGroups, findPerson, describePersonSource, verifyPerson } from "./identity.ts";
import { agentMayNotError, findAgent, hasWrongToken, requireNamed, requireReader } from "./principals.ts";
import { delayAnswer } from "./wrong_tokens.ts";

/** Requirements of an endpoint for its callers. */
export interface AccessRules {
  method: "GET" | "POST";
  /** A POST that counts as a read: every caller who may read may send it. */
  reads?: true;
  /** Part of the product runtime: 503 without an intent. */
  product?: boolean;
  /** Needs the admin token if one is configured; `protect_all`: only if the host protects everything. */
  token?: true | "protect_all";
  /** Needs no credential, even if reads are protected. Its handler may check credentials itself. */
  open?: true;
  /** Does not read the person, so that an invalid name in the proxy's header does no harm. */
  ignoresPerson?: true;
  /** A write that an agent may send with its own secret in place of the admin token. */
  agents?: true;
  /**
   * The answer of a read to an agent that reads its own changes only: `filtered` to these, or `neutral`, the same as for
   * everybody, since it shows no change. Absent: 403 `agent_may_not`.
   */
  ownReads?: "filtered" | "neutral";
  /** A product write that programs make: behind a trusted proxy it needs no person. */
  personOptional?: true;
}

/** Returns true for a request that may write. */
export const isWrite = ({ method, reads }: Pick<AccessRules, "method" | "reads">): boolean =>
  method === "POST" && !reads;

/**
 * Resolves with the caller; a wrong token is answered with a delay. Errors: 403 `cross_site`, 401 `unauthorized`, 403
 * `agent_may_not`, 400 `invalid_identity`, 403 `person_required`.
 */
export async function admit(request: Request, deps: HttpDeps, rules: AccessRules): Promise<Identity> {
  try {
    return await identifyCaller(request, deps, rules);
  } catch (error) {
    const isUnauthorized = error instanceof AppError && error.code === "unauthorized";
    if (isUnauthorized && hasWrongToken(request, deps)) await delayAnswer(deps, request);
    throw error;
  }
}

/** Rejects a request for a reason other than its caller; a wrong token delays this answer too, so that guessing is not faster. */
export async function rejectRequest(request: Request, deps: HttpDeps, error: AppError): Promise<never> {
  if (hasWrongToken(request, deps)) await delayAnswer(deps, request);
  throw error;
}

async function identifyCaller(request: Request, deps: HttpDeps, rules: AccessRules): Promise<Identity> {
  const writes = isWrite(rules);
  if (rules.method === "POST") requireSameSite(request, deps.allowedHosts);
  if (!rules.open && deps.identityToken) await verifyPerson(deps, request);
  const agent = rules.open ? undefined : findAgent(request, deps);
  if (agent !== undefined) {
    const { name, readsOwn } = agent;
    if (writes && !rules.agents) throw agentMayNotError(name);
    if (!writes && readsOwn && !rules.ownReads) throw createOwnReadsError(name);
    // Called for its error alone: an agent too may not send an invalid name.
    findPerson(deps, request);
    return { agent: name, readsOwn, person: undefined, personSource: describePersonSource(deps), hasToken: false };
  }
  if (writes && !rules.open) rejectAnonymousWrites(deps);
  // Endpoints with `protect_all`, such as chat, answer with data, so they count as reads.
  if (!rules.open && (!writes || rules.token === "protect_all")) requireReader(request, deps);
  if (rules.token === true || (rules.token && deps.protectAll)) requireToken(request, deps);
  // Even if no token is needed, a wrong one delays the answer, so that guessing is not faster here.
  else if (rules.token && hasWrongToken(request, deps)) await delayAnswer(deps, request);
  const person = rules.ignoresPerson ? undefined : findPerson(deps, request);
  if (writes && rules.product && !rules.personOptional) requireNamed(person, request, deps);
  return {
    person,
    groups: findTokenGroups(request),
    personSource: describePersonSource(deps),
    hasToken: hasAdminToken(request, deps),
  };
}
