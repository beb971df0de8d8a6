/** Reads the Idempotency-Key of a write. */
import type { Identity } from "../changes/caller.ts";
import type { IdempotencyKey } from "../changes/idempotency.ts";
import { invalidField } from "../kit/errors.ts";
import type { Sha256 } from "../kit/platform.ts";

/**
 * Returns the request's key, if it has one. The same key of another caller, or at another path, is another key. Errors: 400 if it is
 * malformed.
 */
export function readIdempotencyKey(
  request: Request,
  { person, agent }: Identity,
  body: string,
  sha256: Sha256,
): IdempotencyKey | undefined {
  const key = request.headers.get("idempotency-key");
  if (key === null) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidField("Idempotency-Key", "must be 1 to 255 visible ASCII characters");
  const token = request.headers.get("x-svc-admin-token") ?? "";
  // An agent is a further member, so that the scope of other callers does not depend on it.
  const scope = [request.method, new URL(request.url).pathname, token, person ?? "", key, ...(agent ? [agent] : [])];
  return { scope: sha256(JSON.stringify(scope)), body: sha256(body) };
}
