/** Runs `verify_audit.py` in one long-lived process, whose start takes longer than many verifications. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** How a program ended, and the rules that it found broken. */
export interface Judged {
  status: number;
  rules: string[];
  stderr: string;
}

/**
 * Caches results of signature checks: most inputs have one other entry than the input before, so their signatures repeat. With the
 * statuses 0 to 2 the program prints a report, with 3 only the reason why it cannot read an input. The status 99 stands for an
 * exception, which no input may cause.
 */
const DRIVER = `
import contextlib, functools, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import verify_audit
for name in ("ed25519_verifies", "p256_verifies", "rsa_verifies"):
    setattr(verify_audit, name, functools.lru_cache(1 << 16)(getattr(verify_audit, name)))
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = verify_audit.main(json.loads(line))
        except BaseException as error:
            status = 99
            print(repr(error), file=sys.stderr)
    text = out.getvalue()
    rules = [finding["rule"] for finding in json.loads(text)["findings"]] if status in (0, 1, 2) else []
    print(json.dumps({"status": status, "rules": rules, "stderr": err.getvalue()}), flush=True)
`;

/** Answers by list of arguments, in which the hash of a file's content stands for its path. Mutation tests repeat many calls. */
const answers = new Map<string, Judged>();
const keyOf = (args: readonly string[]): string =>
  JSON.stringify(
    args.map((arg) => (existsSync(arg) ? createHash("sha256").update(readFileSync(arg)).digest("hex") : arg)),
  );

/** Returns a verifier. `judge` runs the program once for each list of arguments, each with `--json`; its first call starts it. */
export function pythonVerifier() {
  let started: ReturnType<typeof start> | undefined;
  return {
    async judge(calls: readonly (readonly string[])[]): Promise<Judged[]> {
      const keys = calls.map(keyOf);
      const unansweredIndexes = keys.flatMap((key, index) => (answers.has(key) ? [] : [index]));
      if (unansweredIndexes.length > 0) {
        started ??= start();
        const judged = await started.judge(unansweredIndexes.map((index) => calls[index]!));
        for (const [at, index] of unansweredIndexes.entries()) answers.set(keys[index]!, judged[at]!);
      }
      return keys.map((key) => answers.get(key)!);
    },
    end: async (): Promise<void> => started?.end(),
  };
}

function start() {
  const folder = join(import.meta.dirname, "../../../docs");
  const child = spawn("python3", ["-c", DRIVER, folder], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async judge(calls: readonly (readonly string[])[]): Promise<Judged[]> {
      child.stdin.write(calls.map((args) => `${JSON.stringify(args)}\n`).join(""));
      const judged: Judged[] = [];
      while (judged.length < calls.length) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`verify_audit.py ended after ${judged.length} of ${calls.length} inputs`);
        judged.push(JSON.parse(String(value)) as Judged);
      }
      return judged;
    },
    async end(): Promise<void> {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
