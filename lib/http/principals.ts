/** Identifies the caller of a request: an agent by its secret, a person by the trusted proxy's header, or the holder of a token. */
import { AppError } from "../kit/errors.ts";
import type { HttpDeps } from "./deps.ts";
import { isSameText } from "../kit/same_text.ts";
import { hasAdminToken, CHALLENGE } from "./guards.ts";
import { hasStatedPerson, findTokenProblem } from "./identity.ts";

type Agent = NonNullable<HttpDeps["agents"]>[number];

/** The scheme `bearer` as a word, anywhere in a header or in several joined headers. */
const MISPLACED_BEARER = /(?:^|,)\s*bearer(?![\w!#$%&'*+.^`|~-])/i;

/**
 * Reads the value after `Authorization: Bearer`; undefined if there is none. A malformed header is returned completely, as a
 * token that matches none.
 */
export const readBearer = (request: Request): string | undefined => {
  const header = request.headers.get("authorization") ?? "";
  const bearer = /^bearer(?: +(.*))?$/i.exec(header);
  if (bearer) return (bearer[1] ?? "").trim();
  return MISPLACED_BEARER.test(header) ? header : undefined;
};

/** Returns true if bearer tokens are in use: there are agents, or a read token. */
const hasBearers = ({ agents = [], readToken }: HttpDeps): boolean => agents.length > 0 || Boolean(readToken);

/**
 * Returns the agent whose secret the request carries. An unknown bearer token is ignored if another credential is valid, since it
 * may be meant for a proxy. Errors: 401 `unauthorized`.
 */
export function findAgent(request: Request, deps: HttpDeps): Agent | undefined {
  if (!hasBearers(deps)) return undefined;
  const bearer = readBearer(request);
  if (bearer === undefined) return undefined;
  const agent = findAgentByBearer(bearer, deps);
  if (agent !== undefined || isReader(request, deps)) return agent;
  throw unknownCallerError();
}

/** Finds an agent by its secret; compares all secrets, so that the time reveals nothing. */
function findAgentByBearer(bearer: string, { agents = [], sha256 }: HttpDeps): Agent | undefined {
  const digest = sha256(bearer);
  return agents.filter(({ token_sha256 }) => isSameText(digest, token_sha256))[0];
}

/** Requires a credential if reads are protected. Errors: 401 `unauthorized`. */
export function requireReader(request: Request, deps: HttpDeps): void {
  if (!deps.protectReads || isReader(request, deps)) return;
  throw unknownCallerError();
}

/** The same error for a missing and a wrong credential, so that it reveals nothing. */
const unknownCallerError = (): AppError =>
  new AppError(
    "unauthorized",
    "this needs a token that is known here: an agent's secret or the read token as Authorization: Bearer, or the admin token in X-Svc-Admin-Token",
    {},
    { "www-authenticate": `Bearer realm="countersign", ${CHALLENGE["www-authenticate"]}` },
  );

const isReader = (request: Request, deps: HttpDeps): boolean =>
  hasAdminToken(request, deps) || hasReadToken(request, deps) || hasStatedPerson(deps, request);

/** Returns true if the request carries the read token, in either header. */
export function hasReadToken(request: Request, { readToken, sha256 }: HttpDeps): boolean {
  if (!readToken) return false;
  const expected = sha256(readToken);
  const tokens = [request.headers.get("x-svc-read-token") ?? "", readBearer(request) ?? ""];
  // Both tokens are compared, so that the time reveals nothing.
  return tokens.filter((token) => isSameText(sha256(token), expected)).length > 0;
}

/** Returns true if the request carries a wrong token of a kind that is in use. */
export function hasWrongToken(request: Request, deps: HttpDeps): boolean {
  const { headers } = request;
  if (deps.adminToken && headers.has("x-svc-admin-token") && !hasAdminToken(request, deps)) return true;
  const hasValidReadToken = hasReadToken(request, deps);
  if (deps.readToken && headers.has("x-svc-read-token") && !hasValidReadToken) return true;
  const bearer = hasBearers(deps) ? readBearer(request) : undefined;
  const isReadToken =
    bearer !== undefined &&
    deps.readToken !== undefined &&
    isSameText(deps.sha256(bearer), deps.sha256(deps.readToken));
  return bearer !== undefined && !isReadToken && findAgentByBearer(bearer, deps) === undefined;
}

/** 403 `agent_may_not`: a request with an agent's secret comes from the agent, whatever other credentials it has. */
export const agentMayNotError = (agent: string): AppError =>
  new AppError("agent_may_not", `${agent} is an agent: it may propose, withdraw what it proposed, and read`, { agent });

/**
 * Rejects a request with an admin token, right or wrong, at endpoints for agents: a program that a model drives must not have
 * the token that can decide and apply. Errors: 403 `agent_required`.
 */
export function rejectAdminToken(request: Request, { adminToken, sha256 }: HttpDeps): void {
  const asBearer = adminToken !== undefined && isSameText(sha256(readBearer(request) ?? ""), sha256(adminToken));
  if (!asBearer && !request.headers.has("x-svc-admin-token")) return;
  throw new AppError(
    "agent_required",
    "the admin token is not for agents and is not taken here; come with an agent's secret as Authorization: Bearer, or with none to read",
  );
}

/**
 * Requires a person if a proxy names people. `person` is `""` if it named nobody, and undefined in a service without such a proxy.
 * Errors: 403 `person_required`.
 */
export function requireNamed(
  person: string | undefined,
  request: Request,
  { identityHeader, identityToken }: HttpDeps,
): void {
  if (person !== "") return;
  const problem = findTokenProblem(request);
  const header = identityToken?.header ?? identityHeader;
  let hint = header ? `the trusted proxy must name one in ${header}` : "log in first";
  if (problem) hint = `the token in ${header} was refused: ${problem}`;
  throw new AppError("person_required", `this is for a person to do, and nobody is named; ${hint}`);
}
