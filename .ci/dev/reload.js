/** In the console of `npm run dev` alone: loads the page anew when a newer console has been built. */

const LOOK_EVERY_MS = 500;

/** Which build is served; undefined while there is no answer, since the service starts anew. */
async function build() {
  const answer = await fetch("build.txt", { cache: "no-store" }).catch(() => undefined);
  return answer?.ok ? answer.text() : undefined;
}

const loaded = await build();

setInterval(async () => {
  if (document.hidden) return;
  const newest = await build();
  if (newest !== undefined && newest !== loaded) location.reload();
}, LOOK_EVERY_MS);
