import * as z from "zod";
import { hasValidSignature, readDelivery } from "../lib/github/delivery.ts";
import type { GithubGate } from "../lib/github/gate.ts";
import { answer } from "../lib/http/answer.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { delayAnswer } from "../lib/http/wrong_tokens.ts";
import { AppError } from "../lib/kit/errors.ts";
import { acceptDeployment } from "../lib/operations/github/deployments.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";

/** Maximum size of a delivery: it lists pull requests, each with its repositories. */
const MAX_DELIVERY_BYTES = 1024 * 1024;

/** POST /api/gate/github: the webhook of a GitHub App. It stores the deployment; the decision is posted to GitHub later. */
export const gateGithub = endpoint(
  {
    method: "POST",
    path: "/api/gate/github",
    summary: "Webhook of a GitHub App: a deployment waits for consent",
    operation: "receiveGithubDelivery",
    description: "Stores a signed `deployment_protection_rule`; the decision is posted to GitHub. Others are ignored.",
    example: { delivery: '{"action":"requested","environment":"production"}' },
    product: true,
    // The handler verifies the signature.
    open: true,
    ignoresPerson: true,
    personOptional: true,
    text: "delivery",
    textType: "application/json",
    bytes: MAX_DELIVERY_BYTES,
    input: z.object({
      delivery: z
        .string()
        .meta({ description: "The delivery as GitHub signed it.", contentSchema: { type: "object" } }),
    }),
    output: z.object({ accepted: z.boolean().describe("True for a deployment that will be answered.") }),
    errors: ["not_found", "unauthorized"],
  },
  async ({ delivery }, { deps, request }: Call<OperationsDeps>) => {
    const gates = deps.product!.adapter?.githubGates ?? [];
    if (gates.length === 0) throw new AppError("not_found", "no gate here has a GitHub App (github in --targets)");
    const bytes = toBytes(delivery);
    const signingGates: GithubGate[] = [];
    for (const gate of gates) if (await hasValidSignature(gate.secret, bytes, request.headers)) signingGates.push(gate);
    if (signingGates.length === 0) {
      await delayAnswer(deps, request);
      throw new AppError("unauthorized", "X-Hub-Signature-256 is not made with the secret of a gate");
    }
    const accepted = await acceptDeployment(deps, signingGates, (api) => readDelivery(bytes, request.headers, api));
    return answer({ accepted });
  },
);

/** Converts a text with one character for each byte to bytes. */
function toBytes(text: string): Uint8Array<ArrayBuffer> {
  // `Uint8Array.from` is a hundred times slower for 1 MiB, and the sender is not authenticated yet.
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}
