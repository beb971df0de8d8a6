/**
 * `npm run demo`: a shop, an agent and the service, in a temporary folder and on free ports. It prints what happens, and waits
 * at the last change for the user's decision. `-- --once` decides that change too, and ends.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openShop, startAgent } from "./actors.mjs";
import { makeIntent } from "./intent.mjs";
import { createProcesses } from "./processes.mjs";
import { say } from "./say.mjs";
import { startService } from "./service.mjs";
import { createUser, followChange, START_OFFSET_MS, tellStory } from "./story.mjs";

const {
  values: { once, dist },
} = parseArgs({
  options: {
    // Ends the demo after the story.
    once: { type: "boolean", default: false },
    // Folder of the built program.
    dist: { type: "string", default: "dist" },
  },
});

const stopped = new Promise((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, resolve);
});
const { start, end, failed } = createProcesses();
const folder = await mkdtemp(join(tmpdir(), "countersign-demo-"));

async function play() {
  const program = resolve(dist);
  if (!existsSync(join(program, "local/ui_server.js")))
    throw new Error(`there is no built program in ${program}; \`npm run demo\` makes it in dist`);
  const [secret, token] = [randomBytes(24).toString("hex"), randomBytes(9).toString("hex")];
  const intent = makeIntent(createHash("sha256").update(secret).digest("hex"));
  await writeFile(join(folder, "intent.json"), JSON.stringify(intent, undefined, 2));
  const service = await startService(start, { folder, dist: program, token, clock: START_OFFSET_MS });
  const shop = await openShop(start, folder, service);
  const agent = (proposal) => startAgent(start, folder, service, { secret, proposal });

  say(`An agent proposes, a person consents, a shop changes, and a log keeps who did what.`);
  console.log(`\n   shop     ${shop.url}\n   console  ${service.url}\n`);
  say(`The service's clock begins nine days ago, so that a week can pass while you read.`);
  const { change_id, page } = await tellStory({ service, shop, agent, say });
  console.log(`   ${page}`);
  if (!once)
    say(`   Approve it there, under any name, then apply it, and look at the shop. The console asks for the admin token,
      which the agent does not have: ${token}. Ctrl-C ends everything.`);
  await followChange({ service, shop, say, user: once ? createUser(service, change_id) : undefined }, change_id);
  // The demo runs until a signal ends it.
  if (!once) await new Promise(() => {});
}

const playing = play();
try {
  await Promise.race([playing, failed, stopped]);
} catch (error) {
  console.error(`The demo failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  // After a signal, the end of the processes makes the story fail, which is no error.
  playing.catch(() => {});
  await end();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
// The terminal shows ^C on the line before.
if (!once) console.log();
say(`Everything has ended, and its folder is gone.`);
process.exit();
