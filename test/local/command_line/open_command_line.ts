/** Runs the command line in this process, with a service in this process. */
import { Readable, Writable } from "node:stream";
import { app } from "../../../handlers/index.ts";
import { type Io, run } from "../../../local/command_line/run.ts";
import { openDeps, type TestDeps, type TestOptions } from "../../support/deps.ts";

/** The result of a call. */
export interface CallResult {
  code: number | void;
  out: string;
  err: string;
}

/** A command line and the service that it calls. */
export interface CommandLine {
  deps: TestDeps;
  /** The requests that were sent. */
  requests: Request[];
  call(argv: readonly string[], overrides?: Partial<Io>): Promise<CallResult>;
  /** Runs a command and returns the service's response; throws if the command fails. */
  // oxlint-disable-next-line no-explicit-any -- the body of any response
  answer(argv: readonly string[], overrides?: Partial<Io>): Promise<any>;
}

/** Opens a service and a command line that calls it. */
export async function openCommandLine(options: TestOptions = {}): Promise<CommandLine> {
  const deps = await openDeps(options);
  const serve = app(deps);
  const requests: Request[] = [];
  const call: CommandLine["call"] = async (argv, overrides = {}) => {
    const [out, err]: [string[], string[]] = [[], []];
    const io: Io = {
      env: {},
      columns: undefined,
      input: Readable.from([]),
      output: new Writable(),
      now: deps.clock.now,
      fetch: (request) => {
        requests.push(request.clone());
        return serve(request);
      },
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      confirm: () => Promise.reject(new Error("no confirmation is expected")),
      run: () => Promise.reject(new Error("no program is expected")),
      save: async (response, file) => void out.push(`${file ?? ""}${await response.text()}`),
      ...overrides,
    };
    const code = await run(argv, io);
    return { code, out: out.join(""), err: err.join("") };
  };
  const answer: CommandLine["answer"] = async (argv, overrides) => {
    const { code, out, err } = await call([...argv, "--json"], overrides);
    if (code !== 0) throw new Error(`${code}: ${err}`);
    return JSON.parse(out);
  };
  return { deps, requests, call, answer };
}

/** The arguments of a valid proposal. */
export const PROPOSE = "propose --tenant-id t1 --kind config --target ui.banner"
  .split(" ")
  .concat("--summary", "Show it");
