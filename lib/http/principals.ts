/** The caller of a request: an agent by its secret, a person by the trusted proxy's header, or the holder of a token. */
import { AppError } from "../kit/errors.ts";
import type { HttpDeps } from "./deps.ts";
import { isSameText } from "../kit/same_text.ts";
import { hasAdminToken, CHALLENGE } from "./guards.ts";
import { hasStatedPerson, findTokenProblem } from "./identity.ts";

type Agent = NonNullable<HttpDeps["agents"]>[number];

/** The scheme `bearer` as a word, anywhere in a header or in several joined headers. */
const ODD_BEARER = /(?:^|,)\s*bearer(?![\w!#$%&'*+.^`|~-])/i;

/**
 * Reads the value after `Authorization: Bearer`; undefined where there is none. A value in another form
 * is a bearer all the same, and complete: one that nobody has.
 */
export const readBearer = (request: Request): string | undefined => {
  const header = request.headers.get("authorization") ?? "";
  const bearer = /^bearer(?: +(.*))?$/i.exec(header);
  if (bearer) return (bearer[1] ?? "").trim();
  return ODD_BEARER.test(header) ? header : undefined;
};

/** Returns true where bearer tokens are in use: there are agents, or a read token. */
const hasBearers = ({ agents = [], readToken }: HttpDeps): boolean => agents.length > 0 || Boolean(readToken);

/**
 * The agent whose secret the request carries. 401 `unauthorized` for a bearer that nobody has, where somebody has one, unless
 * another credential vouches for the request: then the bearer is somebody else's.
 */
export function findAgent(request: Request, deps: HttpDeps): Agent | undefined {
  if (!hasBearers(deps)) return undefined;
  const bearer = readBearer(request);
  if (bearer === undefined) return undefined;
  const agent = findAgentByBearer(bearer, deps);
  if (agent !== undefined || isReader(request, deps)) return agent;
  throw unknownCallerError();
}

/** Finds an agent by its secret; compares all, so that the time reveals nothing about them. */
function findAgentByBearer(bearer: string, { agents = [], sha256 }: HttpDeps): Agent | undefined {
  const digest = sha256(bearer);
  return agents.filter(({ token_sha256 }) => isSameText(digest, token_sha256))[0];
}

/** 401 `unauthorized` for a read without a credential, where reads are protected. */
export function requireReader(request: Request, deps: HttpDeps): void {
  if (!deps.protectReads || isReader(request, deps)) return;
  throw unknownCallerError();
}

/** The error of a missing and of a wrong credential: the same, so that it reveals nothing. */
const unknownCallerError = (): AppError =>
  new AppError(
    "unauthorized",
    "this needs a token that is known here: an agent's secret or the read token as Authorization: Bearer, or the admin token in X-Svc-Admin-Token",
    {},
    { "www-authenticate": `Bearer realm="countersign", ${CHALLENGE["www-authenticate"]}` },
  );

const isReader = (request: Request, deps: HttpDeps): boolean =>
  hasAdminToken(request, deps) || hasReadToken(request, deps) || hasStatedPerson(deps, request);

/** Returns whether the request carries the read token, in either place. */
export function hasReadToken(request: Request, { readToken, sha256 }: HttpDeps): boolean {
  if (!readToken) return false;
  const known = sha256(readToken);
  const tokens = [request.headers.get("x-svc-read-token") ?? "", readBearer(request) ?? ""];
  return tokens.filter((token) => isSameText(sha256(token), known)).length > 0;
}

/** Returns whether the request carries an unknown token of a kind that is in use. */
export function hasWrongToken(request: Request, deps: HttpDeps): boolean {
  const { headers } = request;
  if (deps.adminToken && headers.has("x-svc-admin-token") && !hasAdminToken(request, deps)) return true;
  const reads = hasReadToken(request, deps);
  if (deps.readToken && headers.has("x-svc-read-token") && !reads) return true;
  const bearer = hasBearers(deps) ? readBearer(request) : undefined;
  const isRead =
    bearer !== undefined &&
    deps.readToken !== undefined &&
    isSameText(deps.sha256(bearer), deps.sha256(deps.readToken));
  return bearer !== undefined && !isRead && findAgentByBearer(bearer, deps) === undefined;
}

/** 403 `agent_may_not`: a request with an agent's secret is the agent's, whatever other credentials it has. */
export const agentMayNotError = (agent: string): AppError =>
  new AppError("agent_may_not", `${agent} is an agent: it may propose, withdraw what it proposed, and read`, { agent });

/**
 * 403 `agent_required` for a request that carries the admin token, or something in its place, where only an agent's secret
 * counts: a program that a model drives must not hold what decides and applies.
 */
export function rejectAdminToken(request: Request, { adminToken, sha256 }: HttpDeps): void {
  const asBearer = adminToken !== undefined && isSameText(sha256(readBearer(request) ?? ""), sha256(adminToken));
  if (!asBearer && !request.headers.has("x-svc-admin-token")) return;
  throw new AppError(
    "agent_required",
    "the admin token is not for agents and is not taken here; come with an agent's secret as Authorization: Bearer, or with none to read",
  );
}

/** 403 `person_required` where a proxy names people, and this request has nobody's name. */
export function requireNamed(
  person: string | undefined,
  request: Request,
  { identityHeader, identityToken }: HttpDeps,
): void {
  if (person !== "") return;
  const problem = findTokenProblem(request);
  const header = identityToken?.header ?? identityHeader;
  const hint = problem
    ? `the token in ${header} was refused: ${problem}`
    : header
      ? `the trusted proxy must name one in ${header}`
      : "log in first";
  throw new AppError("person_required", `this is for a person to do, and nobody is named; ${hint}`);
}
