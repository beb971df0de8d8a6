/** Code patches on a branch of a git repository, against real git: pushes, reverts, conflicts and drift. */
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { gitTarget, type GitTargetOptions } from "../../../local/targets/git.ts";
import { gitRepository } from "../../../local/targets/git/repository.ts";
import { parseRemote } from "../../../local/targets/git/remote.ts";
import { service } from "../../support/service.ts";
import { type Files, gitServer, serveHttp, shadowProgram } from "../../support/git_server.ts";

const neverAborted = new AbortController().signal;
const clock = { now: () => Date.UTC(2026, 0, 2) };

const LINES = Array.from({ length: 9 }, (_, i) => `line ${i}\n`);
const withLine = (at: number, text: string): string => LINES.with(at, `${text}\n`).join("");

let folderCount = 0;

const change = (value: unknown, change_id = "chg_a"): Change =>
  ({ change_id, tenant_id: "t1", kind: "code_patch", target: "repo/app", value }) as Change;

/**
 * Creates a repository with an adapter; `openAdapter` opens further ones on clones of their own. `propose(branch, ...steps)` commits
 * each step on a new branch and returns the value of a code patch; `commit` is an edit by somebody else, without a parent if `from`
 * is empty.
 */
async function openRepository(files: Files = { "app.txt": LINES.join(""), "old.txt": "old\n" }) {
  const server = await gitServer(files);
  const openAdapter = (overrides: Partial<GitTargetOptions> = {}) => {
    const system = gitTarget({
      url: server.bare,
      branch: "main",
      path: () => "unused.json",
      folder: join(server.root, `clone-${++folderCount}`),
      clock,
      ...overrides,
    });
    const adapter = targetAdapter(system, { store: memoryStore(), clock });
    return {
      system,
      validate: (proposed: Change) => adapter.validate(proposed, neverAborted),
      apply: async (proposed: Change) => (await adapter.apply(proposed, neverAborted)).result,
      verify: (proposed: Change) => adapter.verify(proposed, neverAborted),
      rollback: async (proposed: Change, overDrift = false) =>
        (await adapter.rollback({ ...proposed, status: "applied" }, neverAborted, undefined, overDrift)).result,
    };
  };
  return { ...server, ...openAdapter(), openAdapter };
}

test("a dry run lists commits, files with modes, and line counts, also of hostile names", async () => {
  const { propose, validate, bare, system } = await openRepository();
  const name = '--output=x\n:100644\t1\t2\t"\u202e';
  const patch = await propose(
    "patch",
    { "app.txt": withLine(1, "changed"), "old.txt": undefined },
    { [name]: "new\n", "run.sh": { mode: "100755", text: "#!/bin/sh\n" }, "logo.bin": Buffer.from([0, 1, 2]) },
  );
  const { ok, preview } = (await validate(change(patch))) as { ok: true; preview: Record<string, unknown> };
  expect(ok).toBe(true);
  expect(preview).toMatchObject({
    place: `git ${bare} main`,
    guard: "atomic",
    before: { branch: "main", head: patch.base },
    after: patch,
    details: {
      commit_count: 2,
      commits: [{ id: patch.head, author: "Ana", subject: "A step of patch" }, {}],
      file_count: 5,
      lines_added: 3,
      lines_removed: 2,
    },
  });
  expect((preview["details"] as { files: unknown[] }).files).toEqual([
    { path: name, added: 1, removed: 0, mode: "000000 → 100644" },
    { path: "app.txt", added: 1, removed: 1, mode: "100644" },
    { path: "logo.bin", added: null, removed: null, mode: "000000 → 100644" },
    { path: "old.txt", added: 0, removed: 1, mode: "100644 → 000000" },
    { path: "run.sh", added: 1, removed: 0, mode: "000000 → 100755" },
  ]);
  expect(system.place(change(patch))).toBe(`git ${bare} main`);
});

test("an apply pushes exactly the head, and a rollback restores the tree of the base", async () => {
  const { propose, apply, verify, rollback, tip, git, log } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(1, "changed") }, { "new.txt": "new\n" });
  expect([await apply(change(patch)), await tip(), await verify(change(patch))]).toEqual([
    "applied",
    patch.head,
    "applied",
  ]);
  expect([await rollback(change(patch)), await verify(change(patch))]).toEqual(["rolled_back", "rolled_back"]);
  expect(await git("diff", patch.base, "main")).toBe("");
  expect(await log("%P %an%n%B")).toMatch(
    new RegExp(
      `^${patch.head} Countersign\nRevert [^]*This reverts commit ${patch.head}[^]*\n\nCountersign-Change: chg_a\nCountersign-Operation: rollback\n`,
    ),
  );
});

test("a rollback keeps later commits, and patches are rolled back in any order", async () => {
  const { propose, commit, apply, verify, rollback, show, git } = await openRepository();
  const first = await propose("first", { "app.txt": withLine(1, "first") });
  await apply(change(first));
  await commit({ "app.txt": LINES.with(1, "first\n").with(8, "later\n").join("") });
  const second = await propose("second", { "new.txt": "new\n" });
  await apply(change(second, "chg_b"));
  expect([await rollback(change(first)), await verify(change(second, "chg_b"))]).toEqual(["rolled_back", "applied"]);
  expect([`${await show("app.txt")}\n`, await show("new.txt")]).toEqual([withLine(8, "later"), "new"]);
  expect(await rollback(change(second, "chg_b"))).toBe("rolled_back");
  expect(await git("ls-tree", "-r", "--name-only", "main")).toBe("app.txt\nold.txt");
});

test("a rollback that conflicts with later commits fails until someone reverts by hand", async () => {
  const { propose, commit, apply, verify, rollback, tip } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(4, "patched") });
  await apply(change(patch));
  const later = await commit({ "app.txt": withLine(4, "patched and edited") });
  await expect(rollback(change(patch))).rejects.toThrow("later commits changed what the code patch changed");
  expect([await tip(), await verify(change(patch))]).toEqual([later, "applied"]);
  const message = `Revert by hand\n\nThis reverts commit ${patch.head}.\n`;
  const byHand = await commit({ "app.txt": withLine(4, "edited only") }, { message });
  expect([await rollback(change(patch), true), await tip()]).toEqual(["rolled_back", byHand]);
});

test("a rollback finds a file that was renamed later, and fails where it was rewritten", async () => {
  const { propose, commit, apply, rollback, tip, show } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(4, "patched") });
  await apply(change(patch));
  const rewritten = await commit({ "app.txt": undefined, "moved.txt": "line 4\npatched\nsomething else\n" });
  await expect(rollback(change(patch))).rejects.toThrow("later commits changed");
  expect(await tip()).toBe(rewritten);
  await commit({ "moved.txt": withLine(4, "patched") });
  expect([await rollback(change(patch)), `${await show("moved.txt")}\n`]).toEqual(["rolled_back", LINES.join("")]);
});

test("a patch is rejected unless its base is the tip and its head descends from it", async () => {
  const { propose, commit, validate, apply, tip } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(1, "changed") });
  const unrelated = await commit({ "a.txt": "a\n" }, { branch: "unrelated", from: "" });
  const missing = "1234567890123456789012345678901234567890";
  const reasons: [unknown, string][] = [
    [{ ...patch, head: unrelated }, "head does not descend from base"],
    [{ ...patch, head: missing }, "the server does not have the commit"],
    [{ ...patch, base: missing }, "base is not the last commit of main"],
    [{ ...patch, branch: "other" }, "the branch of the code patch is not main"],
    [{ ...patch, head: patch.base }, "the same commit"],
    [{ ...patch, head: "--output=/tmp/x" }, "head must be a full commit id"],
    [{ ...patch, base: patch.base.slice(0, 12) }, "base must be a full commit id"],
    [{ ...patch, head: `${patch.head}\n--all` }, "head must be a full commit id"],
    [{ ...patch, force: true }, "is {branch, base, head}"],
    ["main", "is {branch, base, head}"],
  ];
  for (const [value, reason] of reasons) {
    expect(await validate(change(value))).toEqual({ ok: false, reason: expect.stringContaining(reason) });
    await expect(apply(change(value))).rejects.toThrow(reason);
  }
  expect(await tip()).toBe(patch.base);
  const moved = await commit({ "b.txt": "b\n" });
  await expect(apply(change(patch))).rejects.toThrow("base is not the last commit of main");
  expect(await tip()).toBe(moved);
});

test("a push never rewrites history", async () => {
  const { bare, root, commit, tip } = await openRepository();
  const author = { name: "A", email: "a@b" };
  const remote = parseRemote({ url: bare });
  const repository = gitRepository({ remote, branch: "main", folder: join(root, "own"), author, isSigned: false });
  const unrelated = await commit({ "a.txt": "a\n" }, { branch: "unrelated", from: "" });
  const before = await repository.fetchTip(neverAborted);
  await repository.fetchCommits([unrelated], neverAborted);
  expect(await repository.push(before, unrelated, neverAborted)).toEqual({
    state: "rejected",
    reason: "the commit does not descend from the branch",
  });
  expect(await tip()).toBe(before);
});

test("a branch that moves into the range just before the push is left there", async () => {
  const { propose, git, tip, root, bare, openAdapter } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(1, "one") }, { "app.txt": withLine(1, "two") });
  const middle = await git("rev-parse", `${patch.head}^`);
  // The third argument of git is its command: just before the push the branch moves to the middle of the patch.
  const move = `[ "$3" != push ] || PATH="$OTHERS" git -C '${bare}' update-ref refs/heads/main ${middle}`;
  vi.stubEnv("PATH", await shadowProgram(root, "git", `${move}\nPATH="$OTHERS" exec git "$@"`));
  const racedAdapter = openAdapter();
  vi.unstubAllEnvs();
  await expect(racedAdapter.apply(change(patch))).rejects.toThrow("base is not the last commit of main");
  expect([await tip(), await racedAdapter.verify(change(patch))]).toEqual([middle, "absent"]);
});

test("a patch or rollback whose response was lost is found on the branch", async () => {
  const { propose, root, openAdapter, tip } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(1, "changed") });
  const http = await serveHttp(root);
  const { apply, verify, rollback } = openAdapter({ url: `${http.url}/app.git` });
  // The push is carried out, but its answer is not sent.
  http.onPushed = () => {
    http.isDown = true;
    return false;
  };
  await expect(apply(change(patch))).rejects.toBeInstanceOf(Unanswered);
  http.isDown = false;
  expect([await tip(), await verify(change(patch))]).toEqual([patch.head, "applied"]);
  await expect(rollback(change(patch))).rejects.toBeInstanceOf(Unanswered);
  http.isDown = false;
  expect([await verify(change(patch)), await rollback(change(patch))]).toEqual(["rolled_back", "rolled_back"]);
});

test("a revert that another person records shows as drift, and its own revert as applied", async () => {
  const { propose, commit, apply, verify, rollback, tip } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(1, "changed") });
  await apply(change(patch));
  const message = (id: string) => `Revert "A step"\n\nThis reverts commit ${id}.\n`;
  const reverted = await commit({ "app.txt": LINES.join("") }, { message: message(patch.head) });
  expect(await verify(change(patch))).toBe("unknown");
  await expect(rollback(change(patch))).rejects.toMatchObject({ name: "TargetDrifted" });
  expect(await tip()).toBe(reverted);
  await commit({ "app.txt": withLine(1, "changed") }, { message: message(reverted) });
  expect([await verify(change(patch)), await rollback(change(patch))]).toEqual(["applied", "rolled_back"]);
});

test("rewritten history is drift; a rollback then removes only the patch's remaining part", async () => {
  const { propose, commit, apply, verify, rollback, show, tip } = await openRepository();
  const patch = await propose("patch", { "app.txt": withLine(1, "changed") });
  await apply(change(patch));
  const rebased = await commit(
    { "app.txt": LINES.with(1, "changed\n").with(8, "rewritten\n").join(""), "old.txt": "old\n" },
    { from: "" },
  );
  expect(await verify(change(patch))).toBe("unknown");
  await expect(rollback(change(patch))).rejects.toMatchObject({
    name: "TargetDrifted",
    values: { expected: patch, held: { branch: "main", head: rebased } },
  });
  expect(await rollback(change(patch), true)).toBe("rolled_back");
  expect(`${await show("app.txt")}\n`).toBe(withLine(8, "rewritten"));
  const secondPatch = await propose("again", { "app.txt": LINES.with(8, "rewritten\n").with(1, "again\n").join("") });
  await apply(change(secondPatch, "chg_b"));
  await commit({ "app.txt": withLine(8, "rewritten"), "old.txt": "old\n" }, { from: "" });
  const tipBefore = await tip();
  expect([await rollback(change(secondPatch, "chg_b"), true), await tip()]).toEqual(["rolled_back", tipBefore]);
});

test("two patches of one target are rolled back by the service in the order of their applies", async () => {
  const { propose, system, show } = await openRepository();
  const api = await service({ adapter: targetAdapter(system, { store: memoryStore(), clock }) });
  const applied: string[] = [];
  for (const name of ["first", "second"]) {
    const value = JSON.stringify(await propose(name, { [name]: "new\n" }));
    applied.push(await api.bring("applied", { tenant_id: "t1", target: "repo/app", kind: "code_patch", value }));
  }
  for (const change_id of applied)
    expect((await api.post("rollback", { change_id })).body).toMatchObject({ status: "rolled_back" });
  await expect(show("first")).rejects.toThrow();
  await expect(show("second")).rejects.toThrow();
});
