/** Reloads the page when a newer console was built; only in the console of `npm run dev`. */

const POLL_INTERVAL_MS = 500;

/** Returns the id of the served build; undefined without an answer, as during a restart of the service. */
async function fetchBuildId() {
  const answer = await fetch("build.txt", { cache: "no-store" }).catch(() => undefined);
  return answer?.ok ? answer.text() : undefined;
}

const loadedBuildId = await fetchBuildId();

setInterval(async () => {
  if (document.hidden) return;
  const newestBuildId = await fetchBuildId();
  if (newestBuildId !== undefined && newestBuildId !== loadedBuildId) location.reload();
}, POLL_INTERVAL_MS);
