/** Whose request it is: an agent by its secret, a person by the trusted proxy's word. */
import { AppError } from "../kit/errors.ts";
import { type HttpDeps, personOf } from "./deps.ts";
import { carriesToken, CHALLENGE, sameText } from "./guards.ts";

/** What a request carries after `Authorization: Bearer`; undefined where it carries no such thing. */
const bearerOf = (request: Request): string | undefined => {
  const bearer = /^bearer(?: +(.*))?$/i.exec(request.headers.get("authorization") ?? "");
  return bearer ? (bearer[1] ?? "").trim() : undefined;
};

/**
 * The agent whose secret the request carries. 401 `unauthorized` for a bearer that nobody has, where somebody has one, unless
 * another credential vouches for the request: then the bearer is somebody else's.
 */
export function agentOf(request: Request, deps: HttpDeps): string | undefined {
  const { agents = [], sha256 } = deps;
  if (agents.length === 0) return undefined;
  const bearer = bearerOf(request);
  if (bearer === undefined) return undefined;
  const digest = sha256(bearer);
  // Every one is compared, so that time does not tell which is near.
  const [agent] = agents.filter(({ token_sha256 }) => sameText(digest, token_sha256));
  if (agent) return agent.name;
  if (carriesToken(request, deps) || personOf(deps, request)?.trim()) return undefined;
  throw new AppError("unauthorized", "the bearer token of this request is nobody's here", {}, CHALLENGE);
}

/** 403 `agent_may_not`: whatever else the request carries, with an agent's secret it is the agent's. */
export const agentMayNot = (agent: string): AppError =>
  new AppError("agent_may_not", `${agent} is an agent: it may propose, withdraw what it proposed, and read`, { agent });

/** 403 `person_required` where a proxy names people, and this request has nobody's name. */
export function requireNamed(person: string | undefined, { identityHeader }: HttpDeps): void {
  if (person === undefined || person.trim() !== "") return;
  const how = identityHeader ? `the trusted proxy must name one in ${identityHeader}` : "log in first";
  throw new AppError("person_required", `this is for a person to do, and nobody is named; ${how}`);
}
