/** A git repository over HTTP, as the target system of random scenarios. */
import { join } from "node:path";
import { gitTarget } from "../../local/targets/git.ts";
import type { Entry } from "../../lib/targets/port.ts";
import { makeGitServer, startHttp } from "./git_server.ts";
import type { TargetScenario } from "./target_scenarios.ts";

/** An edit fails when the service pushes at the same time. */
const MAX_EDIT_TRIES = 20;

/** Makes a repository for one scenario. */
export async function gitScenario(
  entries: readonly Entry[],
  value: (number: number) => unknown,
): Promise<TargetScenario> {
  const server = await makeGitServer();
  const http = await startHttp(server.root);
  await server.git("config", "http.receivepack", "true");
  const path = ({ tenant_id, target }: Entry): string => `config/${tenant_id}/${target}.json`;
  let clones = 0;
  return {
    open: (clock) =>
      gitTarget({
        url: `${http.url}/app.git`,
        branch: "main",
        path,
        folder: join(server.root, `clone-${++clones}`),
        clock,
      }),
    entries,
    value,
    async read(entry) {
      if ((await server.git("ls-tree", "main", "--", path(entry))) === "") return undefined;
      return JSON.parse(await server.show(path(entry)));
    },
    async edit(entry, edited) {
      const files = { [path(entry)]: edited === undefined ? undefined : `${JSON.stringify(edited)}\n` };
      for (let failures = 0; ; failures++) {
        try {
          await server.commit(files, { isForced: false });
          return;
        } catch (error) {
          if (failures === MAX_EDIT_TRIES) throw error;
        }
      }
    },
    lose(loss) {
      if (loss === "request") http.losesPush = true;
      else http.onPushed = () => false;
      return () => Object.assign(http, { losesPush: false, onPushed: () => true });
    },
    // A push that was given up takes effect within this time, or never.
    maxLateMs: 10 * 60_000,
    async dispose() {
      http.stop();
      await server.remove();
    },
  };
}
