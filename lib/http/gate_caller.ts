/** The caller at a gate: a holder of the admin token, or a CI job with a token of its issuer. */
import type { GateCaller } from "../changes/gate/check_release.ts";
import type { GateQuestion } from "../changes/gate/judge_release.ts";
import { parseDeployment } from "../changes/rules/release.ts";
import type { CiToken } from "../identity/gate_issuers.ts";
import { TokenRefused } from "../identity/token_refused.ts";
import { AppError } from "../kit/errors.ts";
import type { HttpDeps } from "./deps.ts";
import { refuseAnonymousWrites, requireToken } from "./guards.ts";
import { readBearer } from "./principals.ts";
import { holdBack } from "./wrong_tokens.ts";

/**
 * Resolves with the CI job that asks, undefined for a holder of the admin token. Whatever its claims say must equal the question;
 * a wrong token is answered with a delay. Errors: 401 `unauthorized`.
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
    refuseAnonymousWrites(deps);
    requireToken(request, deps);
    return undefined;
  } catch (error) {
    if (isJob || request.headers.has("x-svc-admin-token")) await holdBack(deps, request);
    throw error;
  }
}

async function verifyJob(bearer: string, { gateTokens }: HttpDeps, question: GateQuestion): Promise<GateCaller> {
  try {
    const { claimed, ...caller } = await gateTokens!.verify(bearer);
    requireEqual(claimed, question);
    return caller;
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    const challenge = { "www-authenticate": 'Bearer realm="countersign", error="invalid_token"' };
    throw new AppError("unauthorized", `the token is not accepted at this gate: ${error.message}`, {}, challenge);
  }
}

/** Requires that what claims say is what is asked for. */
function requireEqual(claimed: CiToken["claimed"], { target, head }: GateQuestion): void {
  const stated: Record<string, string | undefined> = { head, ...parseDeployment(target) };
  for (const [fact, value] of Object.entries(claimed))
    if (stated[fact] !== undefined && stated[fact] !== value)
      throw new TokenRefused(`it is for another ${fact}: ${JSON.stringify(value)}`);
}
