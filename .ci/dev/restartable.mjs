/** A Node program that is restarted on request, one run after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** The program with its arguments; it does not run until `restart` is called first. */
export function restartable(command) {
  let child;
  let turn = Promise.resolve();
  let waiting = false;
  let stopped = false;

  const start = () => {
    child = spawn(process.execPath, ["--enable-source-maps", ...command], { stdio: "inherit" });
    child.once("exit", endedByItself);
  };

  const endedByItself = () => {
    child = undefined;
    process.stderr.write("The service has ended; the next change starts it again.\n");
  };

  const end = async () => {
    if (child === undefined) return;
    const ending = child.off("exit", endedByItself);
    child = undefined;
    ending.kill("SIGTERM");
    await once(ending, "exit");
  };

  return {
    /** Ends it in good order, if it runs, and starts it; of several calls that wait for one end, one counts. */
    restart() {
      if (waiting) return;
      waiting = true;
      turn = turn.then(async () => {
        await end();
        waiting = false;
        if (!stopped) start();
      });
    },
    /** Ends it for good. */
    async stop() {
      stopped = true;
      await turn;
      await end();
    },
  };
}
