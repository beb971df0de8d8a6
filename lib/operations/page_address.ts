/** The address of a change's page in the console. */
import type { OperationsDeps } from "./deps.ts";

interface PageRequest {
  deps: OperationsDeps;
  request: Request;
}

/**
 * Returns the address of a change's page: below the address of the console (`--public-url`), or below that of the request. Null
 * if this host has no console and no address is set.
 */
export function findChangePage({ deps, request }: PageRequest, changeId: string): string | null {
  const consoleUrl = deps.publicUrl ?? (hasConsole(deps) ? findConsoleUrl(request) : undefined);
  return consoleUrl === undefined ? null : changePageAddress(consoleUrl, changeId);
}

/** Returns the address of a change's page below the console's address; without one, relative to the console. */
export const changePageAddress = (consoleUrl: string | undefined, changeId: string): string =>
  `${consoleUrl === undefined ? "" : `${consoleUrl}/`}#/changes/${encodeURIComponent(changeId)}`;

const hasConsole = ({ capabilities = [] }: OperationsDeps): boolean =>
  capabilities.some(({ id, status }) => id === "ui" && status === "available");

/** Returns the address below which the request reached the service: without the path of the endpoints that link to pages. */
function findConsoleUrl(request: Request): string {
  const { origin, pathname } = new URL(request.url);
  return origin + pathname.replace(/\/(?:mcp|api\/chat|api\/gate)\/*$/, "");
}
