/** `verify_audit.py` in one long-lived process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** How a program ended, and the rules that it found broken. */
export interface Judged {
  status: number;
  rules: string[];
  stderr: string;
}

/** Signatures that were verified once are remembered: most inputs differ in one. */
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

/** Starts the process; `judge` runs the program once for each list of arguments, with `--json`. */
export function pythonVerifier() {
  const folder = join(import.meta.dirname, "../../../docs");
  const child = spawn("python3", ["-c", DRIVER, folder], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async judge(calls: readonly (readonly string[])[]): Promise<Judged[]> {
      child.stdin.write(calls.map((args) => `${JSON.stringify(args)}\n`).join(""));
      const judged: Judged[] = [];
      while (judged.length < calls.length) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`verify_audit.py ended behind ${judged.length} of ${calls.length} inputs`);
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
