/** The console as fetch, for an application that mounts the service: its files are built in. */
import packed from "countersign:console-files";
import type { Handler } from "../lib/http/endpoint.ts";
import { serveConsole, type ConsoleOptions, unpackConsole } from "../lib/http/serve_console.ts";
import { once } from "../lib/kit/once.ts";

export type { ConsoleOptions };

const files = once(() => unpackConsole(packed));

/**
 * The console at `<base>/` and the service behind it, as one fetch: what is no file of the console, `service` answers. `base` is
 * the service's own.
 */
export const withConsole = (service: Handler, options?: ConsoleOptions): Handler =>
  serveConsole(files, service, options);
