/** The package's other programs, as verbs of `countersign`; each parses its own options. */
import type { Environment } from "../secrets.ts";

/** A program. `main` resolves with its exit code, or with undefined while it runs on. */
export interface Program {
  help: string;
  main(argv: readonly string[], env: Environment): Promise<number | void>;
}

/** Programs by verb; loaded when called. */
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
