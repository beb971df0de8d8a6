/** The other programs of the package, under the one name; each reads its own options. */
import type { Environment } from "../secrets.ts";

/** One of them. Resolves with its exit code, or with nothing while it goes on. */
export interface Program {
  help: string;
  main(argv: readonly string[], env: Environment): Promise<number | void>;
}

/** By the name that comes first; loaded when they are asked for. */
export const PROGRAMS: Readonly<Record<string, Program>> = {
  serve: {
    help: "Run the service: `ui_server`",
    main: async (argv, env) => (await import("../ui_server.ts")).main(argv, env),
  },
  verify: {
    help: "Check an export of the log, or a certificate, offline: `countersign-verify`",
    main: async (argv) => (await import("../verify/main.ts")).main([...argv]),
  },
};
