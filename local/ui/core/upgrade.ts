/** Notices that the service serves another build of the console than the open one. */
import { subscribeToReconnect } from "./live.ts";
import { createValue } from "./value.ts";

/** True if the console was replaced since this page was loaded. */
export const isUpgraded = createValue(false);

export function watchUpgrade(): void {
  subscribeToReconnect(() => void checkForUpgrade());
  document.addEventListener("visibilitychange", () => document.hidden || void checkForUpgrade());
}

/** Compares the script name, which has the build id, with the one in the served page. */
async function checkForUpgrade(): Promise<void> {
  const ownScript = document.querySelector("script[src]")!.getAttribute("src")!;
  const answer = await fetch(document.baseURI.replace(/#.*/, ""), { cache: "no-store" }).catch(() => undefined);
  const page = answer?.ok ? await answer.text() : "";
  // A proxy's log-in page may be served instead.
  if (page.includes("countersign-api") && !page.includes(ownScript)) isUpgraded.set(true);
}
