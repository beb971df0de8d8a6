/** A Node program that is restarted on request, one run after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Creates a program from its file and arguments; `restart` starts it. */
export function restartable(command) {
  let child;
  let queue = Promise.resolve();
  let isRestartQueued = false;
  let isStopped = false;

  const start = () => {
    child = spawn(process.execPath, ["--enable-source-maps", ...command], { stdio: "inherit" });
    child.once("exit", onUnexpectedExit);
  };

  const onUnexpectedExit = () => {
    child = undefined;
    process.stderr.write("The service has ended; the next change starts it again.\n");
  };

  const end = async () => {
    if (child === undefined) return;
    const ending = child.off("exit", onUnexpectedExit);
    child = undefined;
    ending.kill("SIGTERM");
    await once(ending, "exit");
  };

  return {
    /** Stops the program, if it runs, and starts it. Calls while a restart is waiting have no effect. */
    restart() {
      if (isRestartQueued) return;
      isRestartQueued = true;
      queue = queue.then(async () => {
        await end();
        isRestartQueued = false;
        if (!isStopped) start();
      });
    },
    /** Ends the program, if it runs; later calls of `restart` have no effect. */
    async stop() {
      isStopped = true;
      await queue;
      await end();
    },
  };
}
