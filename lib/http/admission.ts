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
export interface Terms {
  method: "GET" | "POST";
  /** A POST that counts as a read: all who may read may send it. */
  reads?: true;
  /** Part of the product runtime: 503 without an intent. */
  product?: boolean;
  /** Needs the admin token where one is configured; `protect_all`: only where the host protects everything. */
  token?: true | "protect_all";
  /**
   * Answers everybody, also where reads are protected, and looks at no credential; what its handler asks for it judges itself.
   */
  open?: true;
  /** Answers also where the proxy's header holds no valid name, and names no person to its handler. */
  ignoresPerson?: true;
  /** A write that an agent may ask for, with its own secret in place of the admin token. */
  agents?: true;
  /**
   * How a read answers an agent that reads its own changes only: `filtered` to these, or the same as everybody, `neutral`, since
   * it shows no change. Absent: 403 `agent_may_not`.
   */
  ownReads?: "filtered" | "neutral";
  /** A product write that programs make: behind a trusted proxy it needs no person. */
  personOptional?: true;
}

/** Returns whether a request may write. */
export const isWrite = ({ method, reads }: Pick<Terms, "method" | "reads">): boolean => method === "POST" && !reads;

/**
 * Resolves with the caller; a wrong token is answered with a delay. Errors: 403 `cross_site`, 401 `unauthorized`, 403
 * `agent_may_not`, 400 `invalid_identity`, 403 `person_required`.
 */
export async function admit(request: Request, deps: HttpDeps, terms: Terms): Promise<Identity> {
  try {
    return await identifyCaller(request, deps, terms);
  } catch (error) {
    const isUnauthorized = error instanceof AppError && error.code === "unauthorized";
    if (isUnauthorized && hasWrongToken(request, deps)) await delayAnswer(deps, request);
    throw error;
  }
}

/** Rejects a request for a reason other than its caller; a wrong token delays this answer too, so that guessing is no quicker. */
export async function rejectRequest(request: Request, deps: HttpDeps, error: AppError): Promise<never> {
  if (hasWrongToken(request, deps)) await delayAnswer(deps, request);
  throw error;
}

async function identifyCaller(request: Request, deps: HttpDeps, terms: Terms): Promise<Identity> {
  const write = isWrite(terms);
  if (terms.method === "POST") requireSameSite(request, deps.allowedHosts);
  if (!terms.open && deps.identityToken) await verifyPerson(deps, request);
  const agent = terms.open ? undefined : findAgent(request, deps);
  if (agent !== undefined) {
    const { name, readsOwn } = agent;
    if (write && !terms.agents) throw agentMayNotError(name);
    if (!write && readsOwn && !terms.ownReads) throw createOwnReadsError(name);
    findPerson(deps, request);
    return { agent: name, readsOwn, person: undefined, personSource: describePersonSource(deps), hasToken: false };
  }
  if (write && !terms.open) rejectAnonymousWrites(deps);
  // Chat endpoints answer with data, so they count as reads.
  if (!terms.open && (!write || terms.token === "protect_all")) requireReader(request, deps);
  if (terms.token === true || (terms.token && deps.protectAll)) requireToken(request, deps);
  // An answer with data must not make guessing a token quicker either.
  else if (terms.token && hasWrongToken(request, deps)) await delayAnswer(deps, request);
  const person = terms.ignoresPerson ? undefined : findPerson(deps, request);
  if (write && terms.product && !terms.personOptional) requireNamed(person, request, deps);
  return {
    person,
    groups: findTokenGroups(request),
    personSource: describePersonSource(deps),
    hasToken: hasAdminToken(request, deps),
  };
}
