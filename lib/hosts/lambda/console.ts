/** The function that serves the console: its files and nothing else, so it needs no table and no secret. */
import { AppError } from "../../kit/errors.ts";
import { serveConsole, unpackConsole } from "../../http/serve_console.ts";
import { once } from "../../kit/once.ts";
import { readBasePath } from "./environment.ts";
import { type LambdaHandler, lambdaHandler } from "./handler.ts";
import { lambdaLog } from "./log.ts";

/** Creates a Lambda handler that serves the files in `packed`, the archive that the build makes. */
export function consoleFunction(packed: string): LambdaHandler {
  const files = once(() => unpackConsole(packed));
  const fetch = serveConsole(files, async () => {
    throw new AppError("not_found", "there is no such file of the console");
  });
  return lambdaHandler({ open: async () => fetch, log: lambdaLog(), basePath: readBasePath(process.env) });
}
