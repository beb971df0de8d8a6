/** Guards that run before a handler: the same site, and the admin token. */
import type { HttpDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import { isSameText } from "../kit/same_text.ts";

/** Returns the host that a request names. */
export const requestHost = (request: Request): string =>
  (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();

/**
 * Rejects a write from a page of another site with 403 `cross_site`. Browsers send `Sec-Fetch-Site`, older ones `Origin`;
 * programs send neither.
 */
export function requireSameSite(request: Request, allowedHosts: readonly string[] = []): void {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) {
    if (site === "same-origin" || site === "none") return;
  } else {
    const origin = request.headers.get("origin");
    if (origin === null) return;
    const host = URL.canParse(origin) ? new URL(origin).host.toLowerCase() : "";
    const name = host.replace(/:\d+$/, "");
    if (
      host !== "" &&
      (host === requestHost(request) || allowedHosts.some((allowed) => allowed === host || allowed === name))
    )
      return;
  }
  throw new AppError("cross_site", "a page of another site may not write here");
}

/** Challenge of a 401. */
export const CHALLENGE = { "www-authenticate": 'SvcAdminToken realm="countersign", header="X-Svc-Admin-Token"' };

/** Requires the admin token, if one is configured. Errors: 401 `unauthorized`. */
export function requireToken(request: Request, deps: Pick<HttpDeps, "adminToken" | "sha256">): void {
  if (!deps.adminToken || hasAdminToken(request, deps)) return;
  throw new AppError(
    "unauthorized",
    "this endpoint needs the header X-Svc-Admin-Token with the service's admin token; it is missing or wrong",
    {},
    CHALLENGE,
  );
}

/** Returns true if an admin token is configured and the request carries it. */
export function hasAdminToken(
  request: Request,
  { adminToken, sha256 }: Pick<HttpDeps, "adminToken" | "sha256">,
): boolean {
  if (!adminToken) return false;
  const token = request.headers.get("x-svc-admin-token");
  return token !== null && isSameText(sha256(token), sha256(adminToken));
}

/** Rejects a write if no admin token is configured and the host allows no anonymous writes. Errors: 401 `unauthorized`. */
export function rejectAnonymousWrites({
  adminToken,
  allowAnonymousWrites,
}: Pick<HttpDeps, "adminToken" | "allowAnonymousWrites">): void {
  if (adminToken || allowAnonymousWrites !== false) return;
  throw new AppError(
    "unauthorized",
    "this host takes no writes without an admin token; configure SVC_ADMIN_TOKEN, or allow anonymous writes",
    {},
    CHALLENGE,
  );
}
