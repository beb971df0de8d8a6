/** What a Worker answers when the service behind it cannot. */
import { IntentInvalid } from "../../governance/intent.ts";
import { IdentityMismatch } from "../../governance/open.ts";
import { SettingRefused } from "../settings.ts";

/** Errors of a start whose message is for people and repeats no secret. */
const TELLING = [IntentInvalid, IdentityMismatch, SettingRefused];

/** 503 `cannot_start`: what in the configuration is wrong, as far as it is known. */
export function cannotStart(request: Request, error: unknown): Response {
  const told = TELLING.some((kind) => error instanceof kind)
    ? (error as Error).message
    : "the Worker's log has the cause";
  return unavailable(request, "cannot_start", `the service cannot start: ${told}`);
}

/** 503 `interrupted`: the object was lost on the way, so it is not known whether a write was done. */
export function interrupted(request: Request): Response {
  const sentence =
    "the service was restarted while it answered; look whether the change was made before asking for it again, or ask under the same Idempotency-Key";
  return unavailable(request, "interrupted", sentence, { "retry-after": "1" });
}

function unavailable(request: Request, code: string, error: string, headers: Record<string, string> = {}): Response {
  const given = request.headers.get("x-request-id") ?? "";
  const request_id = /^[A-Za-z0-9._-]{1,100}$/.test(given) ? given : crypto.randomUUID();
  const body = JSON.stringify({ error, code, status: 503, request_id });
  return new Response(request.method === "HEAD" ? null : body, {
    status: 503,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": request_id,
      ...headers,
    },
  });
}
