/**
 * Answers only to names that cannot be rebound: a page of another site may point its own name at this machine's address
 * (DNS rebinding), and would then pass for the same site.
 */
import type { HttpDeps } from "./deps.ts";
import { answerRequest, type Handler } from "./endpoint.ts";
import { requestHost } from "./guards.ts";
import { AppError } from "../kit/errors.ts";

/** The characters of a host and port; anything else, such as user info, would mean another host to a URL parser. */
const HOST = /^[A-Za-z0-9._:[\]-]+$/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * Creates the guard that answers 403 `host_not_allowed` unless `Host` is `localhost`, an IP address, or one of
 * `deps.allowedHosts` (names in lower case without a port), each with any port. It runs before everything else.
 */
export function createHostGuard(deps: HttpDeps): (fetch: Handler) => Handler {
  const names = new Set(["localhost", ...(deps.allowedHosts ?? [])]);
  /** The last allowed Host, which most requests repeat, so that it is parsed once. */
  let lastAllowed: string | undefined;

  const isAllowed = (host: string): boolean => {
    if (host === lastAllowed) return true;
    if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return false;
    const name = new URL(`http://${host}`).hostname.replace(/\.$/, "");
    if (!names.has(name) && !IPV4.test(name) && !name.startsWith("[")) return false;
    lastAllowed = host;
    return true;
  };

  return (fetch) => (request) => {
    if (isAllowed(requestHost(request))) return fetch(request);
    return answerRequest(deps, request, () => Promise.reject(hostNotAllowed()));
  };
}

const hostNotAllowed = () =>
  new AppError(
    "host_not_allowed",
    "the service does not answer to this Host; use its address, or list the name in --allowed-hosts",
  );
