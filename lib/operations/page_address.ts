/** The address of a change's page in the console. */
import type { OperationsDeps } from "./deps.ts";

/** Who was asked, and where. */
interface PageRequest {
  deps: OperationsDeps;
  request: Request;
}

/**
 * The address of a change's page: below the console as people reach it (`--public-url`), else below the address that the
 * request came to. `null` where this host has no console and none is named.
 */
export function findChangePage({ deps, request }: PageRequest, changeId: string): string | null {
  const console = deps.publicUrl ?? (hasConsole(deps) ? consoleAddress(request) : undefined);
  return console === undefined ? null : changePageAddress(console, changeId);
}

/** The address of a change's page below the console's; relative to the console without one. */
export const changePageAddress = (console: string | undefined, changeId: string): string =>
  `${console === undefined ? "" : `${console}/`}#/changes/${encodeURIComponent(changeId)}`;

const hasConsole = ({ capabilities = [] }: OperationsDeps): boolean =>
  capabilities.some(({ id, status }) => id === "ui" && status === "available");

function consoleAddress(request: Request): string {
  const { origin, pathname } = new URL(request.url);
  return origin + pathname.replace(/\/(?:mcp|api\/chat|api\/gate)\/*$/, "");
}
