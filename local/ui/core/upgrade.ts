/** Notices that the service has another console than the one that is open, as after an upgrade. */
import { subscribeToReconnect } from "./live.ts";
import { createValue } from "./value.ts";

/** True if the console was replaced since this page was loaded. */
export const upgraded = createValue(false);

/** Looks again when the service was away, or the window. */
export function watchUpgrade(): void {
  subscribeToReconnect(() => void checkForUpgrade());
  document.addEventListener("visibilitychange", () => document.hidden || void checkForUpgrade());
}

/** Compares the name of the script, which has the id of its build, with that in the page as it is now. */
async function checkForUpgrade(): Promise<void> {
  const own = document.querySelector("script[src]")!.getAttribute("src")!;
  const answer = await fetch(document.baseURI.replace(/#.*/, ""), { cache: "no-store" }).catch(() => undefined);
  const page = answer?.ok ? await answer.text() : "";
  // A log-in page may stand in its place.
  if (page.includes("countersign-api") && !page.includes(own)) upgraded.set(true);
}
