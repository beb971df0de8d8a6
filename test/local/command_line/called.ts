/** Runs the command line in this process, with a service in this process. */
import { Readable, Writable } from "node:stream";
import { app } from "../../../handlers/index.ts";
import { type Io, run } from "../../../local/command_line/run.ts";
import { openDeps, type TestDeps, type TestOptions } from "../../support/deps.ts";

/** The result of a call. */
export interface Called {
  code: number | void;
  out: string;
  err: string;
}

/** A command line and the service that it calls. */
export interface CommandLine {
  deps: TestDeps;
  /** The requests that were sent. */
  requests: Request[];
  call(argv: readonly string[], over?: Partial<Io>): Promise<Called>;
  /** Runs a command and returns the service's response; throws if the command fails. */
  // oxlint-disable-next-line no-explicit-any -- whatever the service answered
  answer(argv: readonly string[], over?: Partial<Io>): Promise<any>;
}

/** Opens a service and a command line that calls it. */
export async function commandLine(options: TestOptions = {}): Promise<CommandLine> {
  const deps = await openDeps(options);
  const serve = app(deps);
  const requests: Request[] = [];
  const call: CommandLine["call"] = async (argv, over = {}) => {
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
      confirm: () => Promise.reject(new Error("nobody is asked")),
      run: () => Promise.reject(new Error("nothing is run")),
      save: async (response, file) => void out.push(`${file ?? ""}${await response.text()}`),
      ...over,
    };
    const code = await run(argv, io);
    return { code, out: out.join(""), err: err.join("") };
  };
  const answer: CommandLine["answer"] = async (argv, over) => {
    const { code, out, err } = await call([...argv, "--json"], over);
    if (code !== 0) throw new Error(`${code}: ${err}`);
    return JSON.parse(out);
  };
  return { deps, requests, call, answer };
}

/** The arguments of a proposal without options. */
export const PROPOSE = "propose --tenant-id t1 --kind config --target ui.banner"
  .split(" ")
  .concat("--summary", "Show it");
