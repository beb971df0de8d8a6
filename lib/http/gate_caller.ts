/** Identifies the caller at a gate: a CI job with a token of its issuer, or a holder of the admin token or of a read credential. */
import type { GateCaller } from "../changes/gate/check_release.ts";
import type { GateQuestion } from "../changes/gate/judge_release.ts";
import { createOwnReadsError } from "../changes/read_scope.ts";
import { parseDeployment } from "../changes/rules/release.ts";
import type { CiToken } from "../identity/gate_issuers.ts";
import { TokenRejected } from "../identity/token_rejected.ts";
import { AppError } from "../kit/errors.ts";
import type { HttpDeps } from "./deps.ts";
import { rejectAnonymousWrites, requireToken } from "./guards.ts";
import { verifyPerson } from "./identity.ts";
import { hasWrongToken, findAgent, readBearer, requireReader } from "./principals.ts";
import { delayAnswer } from "./wrong_tokens.ts";

/**
 * Resolves with the CI job, or undefined for any other admitted caller. The job's claims must match the question. A wrong token
 * is answered with a delay. Errors: 401 `unauthorized`, 403 `agent_may_not`.
 */
export async function requireGateCaller(
  request: Request,
  deps: HttpDeps,
  question: GateQuestion,
): Promise<GateCaller | undefined> {
  const bearer = readBearer(request);
  const isJob = deps.gateTokens !== undefined && bearer !== undefined && !request.headers.has("x-svc-admin-token");
  try {
    if (isJob) return await verifyJob(bearer, deps, question);
    rejectAnonymousWrites(deps);
    await requireCredential(request, deps);
    return undefined;
  } catch (error) {
    // If the request has a job's token or an admin token, an error means that this token was not accepted.
    const isWrong = isJob || request.headers.has("x-svc-admin-token") || hasWrongToken(request, deps);
    if (isWrong) await delayAnswer(deps, request);
    throw error;
  }
}

/** Requires the admin token. Without a configured one it requires a CI token if there are issuers, else the credential of a read. */
async function requireCredential(request: Request, deps: HttpDeps): Promise<void> {
  if (deps.adminToken) return requireToken(request, deps);
  if (deps.gateTokens)
    throw new AppError("unauthorized", "this needs the token of a CI job as Authorization: Bearer", {}, CHALLENGE);
  await verifyPerson(deps, request);
  const agent = findAgent(request, deps);
  if (agent?.readsOwn) throw createOwnReadsError(agent.name);
  if (!agent) requireReader(request, deps);
}

const CHALLENGE = { "www-authenticate": 'Bearer realm="countersign"' };

async function verifyJob(bearer: string, { gateTokens }: HttpDeps, question: GateQuestion): Promise<GateCaller> {
  try {
    const { claimed, ...caller } = await gateTokens!.verify(bearer);
    requireEqual(claimed, question);
    return caller;
  } catch (error) {
    if (!(error instanceof TokenRejected)) throw error;
    const challenge = { "www-authenticate": 'Bearer realm="countersign", error="invalid_token"' };
    throw new AppError("unauthorized", `the token is not accepted at this gate: ${error.message}`, {}, challenge);
  }
}

/** Requires that the claims match the question. */
function requireEqual(claimed: CiToken["claimed"], { target, head }: GateQuestion): void {
  const questionFacts: Record<string, string | undefined> = { head, ...parseDeployment(target) };
  for (const [fact, value] of Object.entries(claimed)) {
    if (questionFacts[fact] === undefined) throw new TokenRejected(`${target} has no ${fact}, and the token names one`);
    if (questionFacts[fact] !== value) throw new TokenRejected(`it is for another ${fact}: ${JSON.stringify(value)}`);
  }
}
