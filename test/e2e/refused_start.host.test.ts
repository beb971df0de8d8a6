/** Tests that each fault that prevents a start is reported in one line. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { test, WITH_INTENT, writeIntent } from "./in_folder.ts";
import { launch, serve } from "./server.ts";

describe.concurrent("a failed start prints one line on standard error:", () => {
  async function startAndFail(cwd: string, args: string[], env: Record<string, string> = {}) {
    const { stdout, stderr, ended } = await launch(cwd, args, env);
    const { code } = await ended;
    expect(stdout).toEqual([]);
    // Lines of the log are JSON.
    return { code, reported: stderr.filter((line) => !line.startsWith("{")) };
  }

  const failures: [number, string[], string | RegExp][] = [
    [2, ["--colour"], "ui_server: unknown option --colour; see --help"],
    [2, ["--port=x"], 'ui_server: --port must be a whole number from 0 to 65535, not "x"'],
    [
      1,
      ["--host=0.0.0.0"],
      "ui_server: --host 0.0.0.0 is not a loopback address: set SVC_ADMIN_TOKEN, or listen on 127.0.0.1",
    ],
    [
      1,
      ["--cross-link-port=0"],
      "ui_server: --cross-link-port needs a secret: set SVC_CROSS_LINK_SECRET, or give --cross-link-secret",
    ],
    [1, ["--product-intent=none.json"], /^ui_server: --product-intent none\.json: ENOENT: no such file/],
    [1, ["--port=0", "--host=203.0.113.7"], "ui_server: --host 203.0.113.7: this machine has no such address"],
  ];
  test.for(failures)("exit code %i for %j", async ([code, args, message], { cwd }) => {
    const failure = await startAndFail(cwd, args, {
      // Only the foreign address, the case with --port=0, must get past the check for a token.
      SVC_ADMIN_TOKEN: args.includes("--port=0") ? "a-token-for-tests" : "",
    });
    expect(failure).toEqual({
      code,
      reported: [typeof message === "string" ? message : expect.stringMatching(message)],
    });
  });

  const flaws: [string, object][] = [
    ["product_id", { product_id: "" }],
    ["version", { version: " " }],
    ["approved_by", { approved_by: 7 }],
    ["update_epoch", { update_epoch: 0 }],
  ];
  test.for(flaws)(
    "an intent with a bad %s names file, field and rule, and leaves no files behind",
    async ([field, change], { cwd }) => {
      await writeIntent(cwd, "bad.json", change);
      const { code, reported } = await startAndFail(cwd, ["--product-intent=bad.json"]);
      expect({ code, reported }).toEqual({
        code: 1,
        reported: [expect.stringMatching(`^ui_server: --product-intent bad\\.json: ${field} must .+`)],
      });
      expect(existsSync(join(cwd, "data"))).toBe(false);
    },
  );

  test("an intent that is not JSON", async ({ cwd }) => {
    await writeFile(join(cwd, "bad.json"), "{\n\n  nonsense\n}");
    const { code, reported } = await startAndFail(cwd, ["--product-intent=bad.json"]);
    expect({ code, reported }).toEqual({
      code: 1,
      reported: [expect.stringMatching(/^ui_server: --product-intent bad\.json: .+/)],
    });
  });

  test("an intent with a field whose name has two lines", async ({ cwd }) => {
    await writeIntent(cwd, "bad.json", { kpis: { "two\nlines": {} } });
    const { reported } = await startAndFail(cwd, ["--product-intent=bad.json"]);
    expect(reported).toEqual([expect.stringMatching(/^ui_server: .*two lines: .*must be/)]);
  });

  test("the state of another product", async ({ cwd }) => {
    const server = await serve(cwd, WITH_INTENT);
    server.child.kill("SIGTERM");
    await server.ended;
    await writeIntent(cwd, "other.json", { product_id: "other" });
    const { code, reported } = await startAndFail(cwd, ["--port=0", "--product-intent=other.json"]);
    expect(code).toBe(1);
    expect(reported).toEqual([
      expect.stringMatching(/^ui_server: --state data\/state\.json: .*"acme-crm".*"other".*product_id must match/),
    ]);
  });

  test("a second process on the same state, also by another path", async ({ cwd }) => {
    const first = await serve(cwd);
    const state = join(cwd, "data/state.json");
    for (const args of [[], [`--state=${state}`]]) {
      const { code, reported } = await startAndFail(cwd, ["--port=0", ...args]);
      expect(code).toBe(1);
      expect(reported).toEqual([
        expect.stringMatching(/^ui_server: .*data\/state\.json is in use by another ui_server; /),
      ]);
    }
    expect((await fetch(`${first.url}/livez`)).status).toBe(200);
  });

  test("a port in use, after which the state is released", async ({ cwd }) => {
    const first = await serve(cwd, ["--state=one/state.json"]);
    const { port } = new URL(first.url);
    expect(await startAndFail(cwd, [`--port=${port}`])).toEqual({
      code: 1,
      reported: [
        `ui_server: --port ${port}: something listens there already on 127.0.0.1; stop it, or choose another --port`,
      ],
    });
    // The start that failed used this state too, the default one.
    await serve(cwd);
  });

  test("a state file that cannot be opened", async ({ cwd }) => {
    await mkdir(join(cwd, "folder/state.json"), { recursive: true });
    const { code, reported } = await startAndFail(cwd, ["--port=0", "--state=folder/state.json"]);
    expect([code, reported.length]).toEqual([1, 1]);
    expect(reported[0]).toContain("state.json");
  });
});
