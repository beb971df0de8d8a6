/** Serves the console, whose files are in the bundle, for an application that mounts the service. */
import packed from "countersign:console-files";
import type { Handler } from "../lib/http/endpoint.ts";
import { serveConsole, type ConsoleOptions, unpackConsole } from "../lib/http/serve_console.ts";
import { once } from "../lib/kit/once.ts";

export type { ConsoleOptions };

const files = once(() => unpackConsole(packed));

/**
 * Returns one fetch handler for the console at `<base>/` and the service: `service` answers every request that is not for a file
 * of the console. `base` must be the base of the service.
 */
export const withConsole = (service: Handler, options?: ConsoleOptions): Handler =>
  serveConsole(files, service, options);
