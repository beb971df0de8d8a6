/** Notices that the service has another console than the one that is open, as after an upgrade. */
import { onReturn } from "./live.ts";
import { value } from "./value.ts";

/** Whether the console was replaced since this page was loaded. */
export const upgraded = value(false);

let loaded: string | null = null;

/** Remembers which console is open, and looks again when the service was away, or the window. */
export function watchUpgrade(): void {
  void look();
  onReturn(() => void look());
  document.addEventListener("visibilitychange", () => document.hidden || void look());
}

/** The tag of the script; a host that gives none is never said to have been upgraded. */
async function look(): Promise<void> {
  const script = new URL("app.js", document.baseURI);
  const answer = await fetch(script, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
  const tag = answer?.ok ? answer.headers.get("etag") : null;
  if (tag === null || tag === undefined) return;
  loaded ??= tag;
  if (tag !== loaded) upgraded.set(true);
}
