/** In the console of `npm run dev` alone: loads the page anew when a newer console has been built. */

const LOOK_EVERY_MS = 500;

const build = () => fetch("build.txt", { cache: "no-store" }).then((answer) => (answer.ok ? answer.text() : undefined));

const loaded = await build();

setInterval(async () => {
  if (document.hidden) return;
  // While the service starts anew there is no answer.
  const newest = await build().catch(() => undefined);
  if (newest !== undefined && newest !== loaded) location.reload();
}, LOOK_EVERY_MS);
