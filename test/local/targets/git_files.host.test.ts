/** JSON files in a git repository as a target system, against real git by path and over http. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import type { Entry } from "../../../lib/targets/port.ts";
import { targetCases } from "../../contract/target_system_cases.ts";
import { attempt, neverAborted, change, clock, entry, gitBench, onPath } from "../../support/git_bench.ts";
import { makePipes, serveHttp, shadowProgram } from "../../support/git_server.ts";

/** Text that another program wrote: parsing and rendering it would change every part of it. */
const FOREIGN = '{ "10": 1.0, "9": 1e2,\r\n\t"b": "\\u00e9" }';

describe("target system contract", () => {
  test.each(targetCases)("$name", ({ run }) =>
    run(async () => {
      const { openSystem, commit, hook } = await gitBench();
      const path = ({ tenant_id, target }: Entry) => `${tenant_id}/${target}.json`;
      return {
        system: openSystem({ path, clock: systemClock }),
        values: [null, 'é 日本語 \u{1F980} "quoted"\n', JSON.parse('{"__proto__":{"x":1},"10":1,"9":2}')],
        async overwrite(one) {
          await commit({ [path(one)]: FOREIGN });
        },
        interrupt: () => hook("pre-receive", "kill -9 $PPID"),
      };
    }),
  );
});

test("an apply is one commit that names its change, and a rollback restores the bytes", async () => {
  const { openAdapter, show, git, log, tip } = await gitBench({
    files: { "config/limits.json": FOREIGN, "a.txt": "a\n" },
  });
  const { apply, rollback, verify } = openAdapter();
  const first = await tip();
  expect((await apply(change({ seats: 5 }))).previous).toEqual({ value: JSON.parse(FOREIGN) });
  expect(`${await show("config/limits.json")}\n`).toBe('{\n  "seats": 5\n}\n');
  expect(await verify(change({ seats: 5 }))).toBe("applied");
  expect(await log("%P %an <%ae> %cn %s%n%(trailers:only)")).toMatch(
    new RegExp(
      `^${first} Countersign <countersign@localhost> Countersign Set config/limits.json\nCountersign-Change: chg_a\nCountersign-Operation: apply\nCountersign-Attempt: [\\w-]+$`,
    ),
  );
  expect(await rollback(change({ seats: 5 }))).toBe("rolled_back");
  expect(await log("%(trailers:key=Countersign-Operation,valueonly)")).toContain("rollback");
  expect(await git("diff", first, "main")).toBe("");
});

test("a rollback removes a file that its apply created, and no value written by hand", async () => {
  const { openAdapter, commit, tip, git } = await gitBench();
  const { apply, rollback, adapter } = openAdapter();
  await apply(change(1));
  expect(await rollback(change(1))).toBe("rolled_back");
  expect(await git("ls-tree", "-r", "--name-only", "main")).toBe("README.md");
  await apply(change(2, { change_id: "chg_b" }));
  const foreign = await commit({ "config/limits.json": "3\n" });
  expect(await adapter.verify(change(2, { change_id: "chg_b" }), neverAborted)).toBe("unknown");
  await expect(rollback(change(2, { change_id: "chg_b" }))).rejects.toMatchObject({ name: "TargetDrifted" });
  expect(await tip()).toBe(foreign);
});

test("a stored text that differs from its stored value is not written", async () => {
  const { openSystem, tip } = await gitBench({ files: { "config/limits.json": "1\n" } });
  const system = openSystem();
  const before = await tip();
  const next = { value: 2, raw: "3\n", version: "" };
  const result = await system.compareAndSet(
    entry(2),
    next,
    await system.read(entry(2), neverAborted),
    attempt(),
    neverAborted,
  );
  expect([result, await tip()]).toEqual([{ done: false, rejected: expect.stringContaining("differs") }, before]);
});

test("a commit is signed by the configured key, with the configured author", async () => {
  const { openAdapter, root, bare } = await gitBench();
  const signingKey = join(root, "signing_key");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", signingKey]);
  await writeFile(join(root, "signers"), `ops@acme.example ${await readFile(`${signingKey}.pub`, "utf8")}`);
  const { apply } = openAdapter({ signingKey, author: { name: "Ops", email: "ops@acme.example" } });
  await apply(change(1));
  const verify = ["-c", `gpg.ssh.allowedSignersFile=${join(root, "signers")}`, "verify-commit", "--raw", "main"];
  execFileSync("git", ["-C", bare, ...verify], { stdio: "pipe" });
  expect(execFileSync("git", ["-C", bare, "log", "-1", "--format=%an %ae", "main"]).toString()).toBe(
    "Ops ops@acme.example\n",
  );
});

test("a commit to the branch during the push is no conflict if it leaves the file unchanged", async () => {
  const { openSystem, hook, commit, git, root, show, tip } = await gitBench({ files: { "config/limits.json": "1\n" } });
  const otherCommit = await commit({ "a.txt": "edited meanwhile\n" }, { branch: "other", from: "main" });
  const racedFile = join(root, "raced");
  // Only the first push meets the other commit. git lets a hook update a branch only without this variable.
  await hook(
    "pre-receive",
    `[ -e '${racedFile}' ] || { touch '${racedFile}'; env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main ${otherCommit}; }`,
  );
  const system = openSystem();
  const current = await system.read(entry(2), neverAborted);
  expect(
    await system.compareAndSet(entry(2), { value: 2, version: "" }, current, attempt(), neverAborted),
  ).toMatchObject({
    done: true,
  });
  expect([existsSync(racedFile), await show("a.txt"), await show("config/limits.json")]).toEqual([
    true,
    "edited meanwhile",
    "2",
  ]);
  expect(await git("merge-base", "--is-ancestor", otherCommit, await tip())).toBe("");
});

test("an edit of the file during the push is a conflict", async () => {
  const { openSystem, hook, commit, show } = await gitBench({ files: { "config/limits.json": "1\n" } });
  const otherCommit = await commit({ "config/limits.json": "7\n" }, { branch: "other", from: "main" });
  await hook("pre-receive", `env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main ${otherCommit}`);
  const system = openSystem();
  const current = await system.read(entry(2), neverAborted);
  expect(
    await system.compareAndSet(entry(2), { value: 2, version: "" }, current, attempt(), neverAborted),
  ).toMatchObject({
    conflict: { value: 7 },
  });
  expect(await show("config/limits.json")).toBe("7");
});

test("of three concurrent writes to one file exactly one succeeds", async () => {
  const { openSystem, show } = await gitBench({ files: { "config/limits.json": "0\n" } });
  const systems = [1, 2, 3].map(() => openSystem());
  const current = await Promise.all(systems.map((system) => system.read(entry(0), neverAborted)));
  const results = await Promise.all(
    systems.map((system, i) =>
      system.compareAndSet(
        entry(i + 1),
        { value: i + 1, version: "" },
        current[i]!,
        attempt({ attempt: `attempt-${i}` }),
        neverAborted,
      ),
    ),
  );
  const winner = results.findIndex(({ done }) => done);
  expect(results.filter((result) => "conflict" in result)).toHaveLength(2);
  expect(await show("config/limits.json")).toBe(String(winner + 1));
});

test("the history of a forced push by another program is read and written", async () => {
  const { openAdapter, commit, show, tip } = await gitBench({ files: { "config/limits.json": "1\n" } });
  const { apply, verify } = openAdapter();
  await apply(change(2));
  // A commit without a parent, so that the branch has another history.
  await commit({ "config/limits.json": "9\n", "b.txt": "b\n" }, { from: "" });
  expect(await verify(change(2))).toBe("unknown");
  expect((await apply(change(3, { change_id: "chg_b" }))).previous).toEqual({ value: 9 });
  expect([await show("b.txt"), await show("config/limits.json", `${await tip()}^`)]).toEqual(["b", "9"]);
});

describe("faults of the server", () => {
  test("a hook's rejection fails the apply with the hook's message, and leaves nothing", async () => {
    const { openAdapter, hook, tip } = await gitBench();
    await hook("pre-receive", "echo 'no edits on Friday'; exit 1");
    const { apply, verify } = openAdapter();
    const before = await tip();
    await expect(apply(change(1))).rejects.toThrow(
      "the server rejects the push: pre-receive hook declined: no edits on Friday",
    );
    expect([await verify(change(1)), await tip()]).toEqual(["absent", before]);
  });

  test("if the server crashes after the update, the write is found to be done", async () => {
    const { openAdapter, hook, show } = await gitBench();
    await hook("post-receive", "kill -9 $PPID");
    const { apply, verify } = openAdapter();
    expect((await apply(change(1))).result).toBe("applied");
    expect([await verify(change(1)), await show("config/limits.json")]).toEqual(["applied", "1"]);
  });

  test("a push whose response was lost has an unknown outcome, and is found by its trailers", async () => {
    const { openAdapter, root, show } = await gitBench();
    const http = await serveHttp(root);
    const { apply, verify, rollback } = openAdapter({ url: `${http.url}/app.git` });
    http.onPushed = () => {
      http.isDown = true;
      return false;
    };
    await expect(apply(change(1))).rejects.toBeInstanceOf(Unanswered);
    http.isDown = false;
    http.onPushed = () => true;
    expect([await show("config/limits.json"), await verify(change(1))]).toEqual(["1", "applied"]);
    expect(await rollback(change(1))).toBe("rolled_back");
  });

  test("a commit is found below a commit with a much older date", async () => {
    const { openSystem, commit } = await gitBench();
    const later = { now: () => clock.now() + 400 * 24 * 60 * 60_000 };
    const system = openSystem({ clock: later });
    const one = attempt({ at: new Date(later.now()).toISOString() });
    await system.compareAndSet(
      entry(1),
      { value: 1, version: "" },
      await system.read(entry(1), neverAborted),
      one,
      neverAborted,
    );
    await commit({ "other.txt": "by a program with a wrong clock\n" });
    expect(await openSystem({ clock: later }).resolve!(entry(1), one, neverAborted)).toBe("done");
  });

  test("an aborted push has an unknown outcome until the server executes it", async () => {
    const { openSystem, root, hook, show } = await gitBench();
    const http = await serveHttp(root);
    const { started, gate, script } = await makePipes(root);
    await hook("pre-receive", script);
    const system = openSystem({ url: `${http.url}/app.git` });
    const current = await system.read(entry(1), neverAborted);
    const controller = new AbortController();
    const pushed = new Promise<void>((done) => (http.onPushed = () => (done(), true)));
    const write = system.compareAndSet(entry(1), { value: 1, version: "" }, current, attempt(), controller.signal);
    await readFile(started);
    controller.abort(new Error("time is up"));
    await expect(write).rejects.toBeInstanceOf(Unanswered);
    expect(await system.resolve!(entry(1), attempt(), neverAborted)).toBe("open");
    await writeFile(gate, "\n");
    await pushed;
    expect([await system.resolve!(entry(1), attempt(), neverAborted), await show("config/limits.json")]).toEqual([
      "done",
      "1",
    ]);
  });

  test("after a crash between commit and push the outcome is unknown for ten minutes", async () => {
    const { openSystem, root, tip } = await gitBench();
    const before = await tip();
    // The third argument of git is its command; a push kills its process before it begins.
    const path = await shadowProgram(root, "git", '[ "$3" != push ] || kill -9 $$\nPATH="$OTHERS" exec git "$@"');
    const killedSystem = await onPath(path, () => openSystem());
    const current = await killedSystem.read(entry(1), neverAborted);
    const write = killedSystem.compareAndSet(entry(1), { value: 1, version: "" }, current, attempt(), neverAborted);
    await expect(write).rejects.toBeInstanceOf(Unanswered);
    let now = clock.now();
    const system = openSystem({ clock: { now: () => now } });
    expect(await system.resolve!(entry(1), attempt(), neverAborted)).toBe("open");
    now += 10 * 60_000;
    expect([await system.resolve!(entry(1), attempt(), neverAborted), await tip()]).toEqual(["not_done", before]);
  });

  test("a failure before the push has a certain result", async () => {
    const { openAdapter, root, tip } = await gitBench();
    const http = await serveHttp(root);
    const { system, apply, verify } = openAdapter({ url: `${http.url}/app.git` });
    const before = await tip();
    const current = await system.read(entry(1), neverAborted);
    http.isDown = true;
    const write = (version: string) =>
      system.compareAndSet(entry(1), { value: 1, version: "" }, { version }, attempt(), neverAborted);
    // The version is not the current one, so the server is asked for the value before any push.
    await expect(write("another")).rejects.toThrow("git ls-remote failed");
    expect(await write(current.version)).toMatchObject({ rejected: expect.stringContaining("git push failed") });
    http.isDown = false;
    expect([await system.resolve!(entry(1), attempt(), neverAborted), await tip()]).toEqual(["not_done", before]);
    await apply(change(1));
    expect(await verify(change(1))).toBe("applied");
  });

  test("a token that may only read is a rejection that says so, and a wrong one fails the ping", async () => {
    const { openAdapter, root, tip } = await gitBench();
    const http = await serveHttp(root);
    const url = `${http.url}/app.git`;
    http.authorization = `Basic ${Buffer.from("x-access-token:s3cret").toString("base64")}`;
    const { apply, verify, system } = openAdapter({ url, token: "s3cret" });
    await system.ping!(neverAborted);
    expect(system.place(entry(1))).toBe(`git ${url} main "config/limits.json"`);
    http.isReadOnly = true;
    const before = await tip();
    await expect(apply(change(1))).rejects.toThrow("the server rejects the credentials");
    expect([await verify(change(1)), await tip()]).toEqual(["absent", before]);
    http.isReadOnly = false;
    await apply(change(1));
    const { system: withWrongToken } = openAdapter({ url, token: "other:gu3ss" });
    await expect(withWrongToken.ping!(neverAborted)).rejects.toThrow("the server rejects the credentials");
    await expect(withWrongToken.read(entry(1), neverAborted)).rejects.toThrow(/^(?!.*gu3ss)git ls-remote failed/);
  });
});
