/** Deliveries of a GitHub App's webhook: the signature over their bytes, and the deployment that waits for a decision. */
import { hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { invalidField } from "../kit/errors.ts";
import { once } from "../kit/once.ts";
import type { Installation } from "./app.ts";

/** A deployment that waits for a decision. */
export interface DeploymentRequest extends Installation {
  deployment_id: number;
  run_id: string;
  /** `owner/name` */
  repository: string;
  environment: string;
  /** Id of the commit to deploy. */
  head: string;
  /** Address to post the decision to. */
  callback: string;
}

const HMAC = { name: "HMAC", hash: "SHA-256" };

/**
 * Resolves with true if a delivery is signed with the secret; compares in constant time. Uses Web Crypto, which works outside
 * the event loop, since anybody can send a delivery of 1 MiB.
 */
export async function hasValidSignature(
  secret: string,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Headers,
): Promise<boolean> {
  const [, signature] = /^sha256=([0-9a-f]{64})$/.exec(headers.get("x-hub-signature-256") ?? "") ?? [];
  if (signature === undefined) return false;
  const key = await crypto.subtle.importKey("raw", utf8ToBytes(secret), HMAC, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, hexToBytes(signature), bytes);
}

const deliverySchema = once(() => {
  const id = () => z.number("must be a number").int().min(1);
  const sha = () => z.string("must be text").regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "must be a full commit id");
  return z.object({
    environment: z.string("must be text").min(1).max(255),
    deployment_callback_url: z.string("must be text").max(1_000),
    deployment: z.object({ id: id(), sha: sha() }),
    sha: sha().nullish(),
    repository: z.object({
      id: id(),
      full_name: z
        .string("must be text")
        .regex(/^[A-Za-z0-9_-]{1,100}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/, "must be owner/name"),
    }),
    installation: z.object({ id: id() }),
  });
});

/** Returns the path to which a decision is posted. */
export const decisionPath = ({ repository, run_id }: Pick<DeploymentRequest, "repository" | "run_id">): string =>
  `/repos/${repository}/actions/runs/${run_id}/deployment_protection_rule`;

/**
 * Reads a signed delivery; undefined if it requests no decision. `api`: the address of GitHub's API; decisions are
 * posted only below it. Errors: 400 `invalid_field`.
 */
export function readDelivery(bytes: Uint8Array, headers: Headers, api: string): DeploymentRequest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw invalidField("body", "is not valid JSON");
  }
  const { action } = (value ?? {}) as { action?: unknown };
  if (headers.get("x-github-event") !== "deployment_protection_rule" || action !== "requested") return undefined;
  const { data, error } = deliverySchema().safeParse(value);
  if (error) throw invalidField(error.issues[0]!.path.join(".") || "body", error.issues[0]!.message);
  const { environment, deployment, repository, installation, deployment_callback_url: callback } = data;
  if ((data.sha ?? deployment.sha) !== deployment.sha) throw invalidField("sha", "must be equal to deployment.sha");
  const request = {
    installation_id: installation.id,
    repository_id: repository.id,
    repository: repository.full_name,
    deployment_id: deployment.id,
    run_id: /\/runs\/([1-9]\d{0,18})\/[a-z_]+$/.exec(callback)?.[1] ?? "",
    environment,
    head: deployment.sha,
    callback,
  };
  if (callback !== api + decisionPath(request))
    throw invalidField(
      "deployment_callback_url",
      "must be …/actions/runs/<run>/deployment_protection_rule below the api of the gate",
    );
  return request;
}
