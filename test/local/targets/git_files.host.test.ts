/** JSON files in a git repository as a target system, against real git: by path, over http and over ssh. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { AttemptContext, Entry } from "../../../lib/targets/port.ts";
import { gitTarget, type GitTargetOptions } from "../../../local/targets/git.ts";
import { targetSystemCases } from "../../contract/target_system_cases.ts";
import { freePort } from "../../support/free_port.ts";
import { type Files, gitServer, makePipes, serveHttp, shadowProgram } from "../../support/git_server.ts";

const calm = new AbortController().signal;
const clock = { now: () => Date.UTC(2026, 0, 2) };

/** Text that another program wrote: parsing and rendering it would change every part of it. */
const FOREIGN = '{ "10": 1.0, "9": 1e2,\r\n\t"b": "\\u00e9" }';

const change = (value: unknown, over: Partial<Change> = {}): Change =>
  ({ change_id: "chg_a", tenant_id: "t1", kind: "config", target: "limits", value, ...over }) as Change;

const entry = (value: unknown, over: Partial<Entry> = {}): Entry => ({ ...change(value), ...over });

const attempt = (over: Partial<AttemptContext> = {}): AttemptContext => ({
  change_id: "chg_a",
  operation: "apply",
  attempt: "attempt-1",
  at: new Date(clock.now()).toISOString(),
  ...over,
});

let folders = 0;

async function bench(over: Partial<GitTargetOptions> & { files?: Files } = {}) {
  const { files, ...options } = over;
  const server = await gitServer(files);
  const openSystem = (more: Partial<GitTargetOptions> = {}) =>
    gitTarget({
      url: server.bare,
      branch: "main",
      path: ({ target }) => `config/${target}.json`,
      folder: join(server.root, `clone-${++folders}`),
      clock,
      ...options,
      ...more,
    });
  const openAdapter = (more: Partial<GitTargetOptions> = {}) => {
    const system = openSystem(more);
    const adapter = targetAdapter(system, { store: memoryStore(), clock });
    return {
      system,
      adapter,
      apply: (one: Change) => adapter.apply(one, calm),
      verify: (one: Change) => adapter.verify(one, calm),
      rollback: async (one: Change) => (await adapter.rollback({ ...one, status: "applied" }, calm)).result,
    };
  };
  return { ...server, openSystem, openAdapter };
}

/** Sets a search path for the systems that a test opens. */
async function onPath<T>(path: string, make: () => T): Promise<T> {
  vi.stubEnv("PATH", path);
  try {
    return make();
  } finally {
    vi.unstubAllEnvs();
  }
}

describe("what every target system promises", () => {
  test.each(targetSystemCases)("$name", ({ run }) =>
    run(async () => {
      const { openSystem, commit } = await bench();
      const path = ({ tenant_id, target }: Entry) => `${tenant_id}/${target}.json`;
      return {
        system: openSystem({ path, clock: systemClock }),
        values: [null, 'é 日本語 \u{1F980} "quoted"\n', JSON.parse('{"__proto__":{"x":1},"10":1,"9":2}')],
        async overwrite(one) {
          await commit({ [path(one)]: FOREIGN });
        },
      };
    }),
  );
});

test("an apply is one commit that names its change, and a rollback restores the bytes", async () => {
  const { openAdapter, show, git, log, tip } = await bench({
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

test("a rollback of a new file removes it, and of a value written by hand nothing", async () => {
  const { openAdapter, commit, tip, git } = await bench();
  const { apply, rollback, adapter } = openAdapter();
  await apply(change(1));
  expect(await rollback(change(1))).toBe("rolled_back");
  expect(await git("ls-tree", "-r", "--name-only", "main")).toBe("README.md");
  await apply(change(2, { change_id: "chg_b" }));
  const foreign = await commit({ "config/limits.json": "3\n" });
  expect(await adapter.verify(change(2, { change_id: "chg_b" }), calm)).toBe("unknown");
  await expect(rollback(change(2, { change_id: "chg_b" }))).rejects.toMatchObject({ name: "TargetDrifted" });
  expect(await tip()).toBe(foreign);
});

test("a stored text that differs from its stored value is not written", async () => {
  const { openSystem, tip } = await bench({ files: { "config/limits.json": "1\n" } });
  const system = openSystem();
  const before = await tip();
  const next = { value: 2, raw: "3\n", version: "" };
  const result = await system.compareAndSet(entry(2), next, await system.read(entry(2), calm), attempt(), calm);
  expect([result, await tip()]).toEqual([{ done: false, rejected: expect.stringContaining("differs") }, before]);
});

test("a commit is signed by the configured key, with the configured author", async () => {
  const { openAdapter, root, bare } = await bench();
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

test("a branch that moves during the push does not matter while the file stays", async () => {
  const { openSystem, hook, commit, git, root, show, tip } = await bench({ files: { "config/limits.json": "1\n" } });
  const other = await commit({ "a.txt": "edited meanwhile\n" }, { branch: "other", from: "main" });
  const raced = join(root, "raced");
  await hook(
    "pre-receive",
    `[ -e '${raced}' ] || { touch '${raced}'; env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main ${other}; }`,
  );
  const system = openSystem();
  const held = await system.read(entry(2), calm);
  expect(await system.compareAndSet(entry(2), { value: 2, version: "" }, held, attempt(), calm)).toMatchObject({
    done: true,
  });
  expect([existsSync(raced), await show("a.txt"), await show("config/limits.json")]).toEqual([
    true,
    "edited meanwhile",
    "2",
  ]);
  expect(await git("merge-base", "--is-ancestor", other, await tip())).toBe("");
});

test("an edit of the file during the push is a conflict", async () => {
  const { openSystem, hook, commit, show } = await bench({ files: { "config/limits.json": "1\n" } });
  const other = await commit({ "config/limits.json": "7\n" }, { branch: "other", from: "main" });
  await hook("pre-receive", `env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main ${other}`);
  const system = openSystem();
  const held = await system.read(entry(2), calm);
  expect(await system.compareAndSet(entry(2), { value: 2, version: "" }, held, attempt(), calm)).toMatchObject({
    conflict: { value: 7 },
  });
  expect(await show("config/limits.json")).toBe("7");
});

test("of three services that write at the same time one wins", async () => {
  const { openSystem, show } = await bench({ files: { "config/limits.json": "0\n" } });
  const systems = [1, 2, 3].map(() => openSystem());
  const held = await Promise.all(systems.map((system) => system.read(entry(0), calm)));
  const results = await Promise.all(
    systems.map((system, i) =>
      system.compareAndSet(
        entry(i + 1),
        { value: i + 1, version: "" },
        held[i]!,
        attempt({ attempt: `attempt-${i}` }),
        calm,
      ),
    ),
  );
  const won = results.findIndex(({ done }) => done);
  expect(results.filter((result) => "conflict" in result)).toHaveLength(2);
  expect(await show("config/limits.json")).toBe(String(won + 1));
});

test("after a forced push from outside the new history is read and written", async () => {
  const { openAdapter, commit, show, tip } = await bench({ files: { "config/limits.json": "1\n" } });
  const { apply, verify } = openAdapter();
  await apply(change(2));
  await commit({ "config/limits.json": "9\n", "b.txt": "b\n" }, { from: "" });
  expect(await verify(change(2))).toBe("unknown");
  expect((await apply(change(3, { change_id: "chg_b" }))).previous).toEqual({ value: 9 });
  expect([await show("b.txt"), await show("config/limits.json", `${await tip()}^`)]).toEqual(["b", "9"]);
});

describe("faults of the server", () => {
  test("a hook that declines is a rejection with its words, and leaves nothing behind", async () => {
    const { openAdapter, hook, tip } = await bench();
    await hook("pre-receive", "echo 'no edits on Friday'; exit 1");
    const { apply, verify } = openAdapter();
    const before = await tip();
    await expect(apply(change(1))).rejects.toThrow(
      "the server rejects the push: pre-receive hook declined: no edits on Friday",
    );
    expect([await verify(change(1)), await tip()]).toEqual(["absent", before]);
  });

  test("a server that dies after the update is asked again, and the write is done", async () => {
    const { openAdapter, hook, show } = await bench();
    await hook("post-receive", "kill -9 $PPID");
    const { apply, verify } = openAdapter();
    expect((await apply(change(1))).result).toBe("applied");
    expect([await verify(change(1)), await show("config/limits.json")]).toEqual(["applied", "1"]);
  });

  test("a push whose answer was lost is unanswered, and found by its trailers", async () => {
    const { openAdapter, root, show } = await bench();
    const http = await serveHttp(root);
    const { apply, verify, rollback } = openAdapter({ url: `${http.url}/app.git` });
    http.onPushed = () => !(http.isDown = true);
    await expect(apply(change(1))).rejects.toBeInstanceOf(Unanswered);
    http.isDown = false;
    http.onPushed = () => true;
    expect([await show("config/limits.json"), await verify(change(1))]).toEqual(["1", "applied"]);
    expect(await rollback(change(1))).toBe("rolled_back");
  });

  test("a push that was given up stays open until the server carries it out", async () => {
    const { openSystem, root, hook, show } = await bench();
    const http = await serveHttp(root);
    const { started, gate, script } = await makePipes(root);
    await hook("pre-receive", script);
    const system = openSystem({ url: `${http.url}/app.git` });
    const held = await system.read(entry(1), calm);
    const late = new AbortController();
    const pushed = new Promise<void>((done) => (http.onPushed = () => (done(), true)));
    const write = system.compareAndSet(entry(1), { value: 1, version: "" }, held, attempt(), late.signal);
    await readFile(started);
    late.abort(new Error("time is up"));
    await expect(write).rejects.toBeInstanceOf(Unanswered);
    expect(await system.resolve!(entry(1), attempt(), calm)).toBe("open");
    await writeFile(gate, "\n");
    await pushed;
    expect([await system.resolve!(entry(1), attempt(), calm), await show("config/limits.json")]).toEqual(["done", "1"]);
  });

  test("a process that dies between commit and push leaves an open attempt for ten minutes", async () => {
    const { openSystem, root, tip } = await bench();
    const before = await tip();
    const path = await shadowProgram(root, "git", '[ "$3" != push ] || kill -9 $$\nPATH="$OTHERS" exec git "$@"');
    const dying = await onPath(path, () => openSystem());
    const held = await dying.read(entry(1), calm);
    const write = dying.compareAndSet(entry(1), { value: 1, version: "" }, held, attempt(), calm);
    await expect(write).rejects.toBeInstanceOf(Unanswered);
    let now = clock.now();
    const system = openSystem({ clock: { now: () => now } });
    expect(await system.resolve!(entry(1), attempt(), calm)).toBe("open");
    now += 10 * 60_000;
    expect([await system.resolve!(entry(1), attempt(), calm), await tip()]).toEqual(["not_done", before]);
  });

  test("a failure before the push is certain, and leaves nothing open", async () => {
    const { openAdapter, root, tip } = await bench();
    const http = await serveHttp(root);
    const { system, apply, verify } = openAdapter({ url: `${http.url}/app.git` });
    const before = await tip();
    const held = await system.read(entry(1), calm);
    http.isDown = true;
    const write = (version: string) =>
      system.compareAndSet(entry(1), { value: 1, version: "" }, { version }, attempt(), calm);
    await expect(write("another")).rejects.toThrow("git ls-remote failed");
    expect(await write(held.version)).toMatchObject({ rejected: expect.stringContaining("git push failed") });
    http.isDown = false;
    expect([await system.resolve!(entry(1), attempt(), calm), await tip()]).toEqual(["not_done", before]);
    await apply(change(1));
    expect(await verify(change(1))).toBe("applied");
  });

  test("a token that may only read is a rejection that says so, and a wrong one fails the ping", async () => {
    const { openAdapter, root, tip } = await bench();
    const http = await serveHttp(root);
    const url = `${http.url}/app.git`;
    http.authorization = `Basic ${Buffer.from("x-access-token:s3cret").toString("base64")}`;
    const { apply, verify, system } = openAdapter({ url, token: "s3cret" });
    await system.ping!(calm);
    expect(system.place(entry(1))).toBe(`git ${url} main "config/limits.json"`);
    http.isReadOnly = true;
    const before = await tip();
    await expect(apply(change(1))).rejects.toThrow("the server rejects the credentials");
    expect([await verify(change(1)), await tip()]).toEqual(["absent", before]);
    http.isReadOnly = false;
    await apply(change(1));
    const other = openAdapter({ url, token: "other:gu3ss" });
    await expect(other.system.ping!(calm)).rejects.toThrow("the server rejects the credentials");
    await expect(other.system.read(entry(1), calm)).rejects.toThrow(/^(?!.*gu3ss)git ls-remote failed/);
  });
});

test("a file that is no plain JSON file is rejected with the reason", async () => {
  const { openAdapter } = await bench({
    files: {
      "config/text.json": "{ a: 1 }",
      "config/twice.json": '{"a":1,"a":2}',
      "config/long.json": '{"id":9007199254740993}',
      "config/bytes.json": Buffer.from([0x22, 0xff, 0x22]),
      "config/lfs.json": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
      "config/run.json": { mode: "100755", text: "1\n" },
      "config/link.json": { mode: "120000", text: "text.json" },
      "config/module.json": { mode: "160000", text: "1234567890123456789012345678901234567890" },
      "config/folder.json/a": "a",
      "config/Case.json": "1\n",
    },
  });
  const { adapter, apply } = openAdapter();
  const reasons = {
    text: "not valid JSON",
    twice: "repeats the member",
    long: "would be rounded",
    bytes: "not UTF-8",
    lfs: "Git LFS",
    run: "mode 100755",
    link: "mode 120000",
    module: "mode 160000",
    folder: "mode 40000",
    case: "differs in case only",
    "run.json/deep": "is a file, not a folder",
  };
  for (const [target, reason] of Object.entries(reasons))
    expect(await adapter.validate(change(1, { target }), calm)).toEqual({
      ok: false,
      reason: expect.stringContaining(reason),
    });
  await expect(apply(change(1, { target: "case" }))).rejects.toThrow("differs in case only");
});

test("a path that leads elsewhere is rejected, and a missing branch says so", async () => {
  const { openSystem, openAdapter } = await bench();
  const paths = [
    "../a",
    "/etc/a",
    "a/../b",
    "a//b",
    ".git/config",
    ".GIT /x",
    "git~1/x",
    "-rf",
    "a\nb",
    "a\0b",
    ":(top)a",
  ];
  const system = openSystem({ path: ({ target }) => `${target}.json` });
  for (const target of [...paths, "a\u202eb", "a\\b", "a*"])
    expect(system.check(entry(1, { target })), target).toContain("the path");
  expect(openSystem({ path: () => "a.yaml" }).check(entry(1))).toContain("does not end in .json");
  const { adapter, system: lost } = openAdapter({ branch: "gone" });
  await expect(adapter.validate(change(1), calm)).rejects.toThrow("the branch gone does not exist");
  await expect(lost.ping!(calm)).rejects.toThrow("the branch gone does not exist");
});

test("an address or option that could run a program is rejected at the start", async () => {
  const { openSystem, root } = await bench();
  const urls = [
    "ext::sh -c touch% /tmp/x",
    "--upload-pack=touch /tmp/x",
    "https://user:secret@acme.example/app.git",
    "https://acme.example/app.git?x=1 y",
    "http://acme.example/app.git",
    "ssh://-oProxyCommand=x/app.git",
    "ssh://git@acme.example/app.git",
    "git@acme.example:app.git",
    "git://acme.example/app.git",
    "relative/app.git",
    'https://acme.example/"app".git',
    "",
  ];
  for (const url of urls) expect(() => openSystem({ url }), url).toThrow(TypeError);
  for (const branch of ["--output=x", "a..b", "a b", "a.lock", "", "a//b", "refs/", "a~1", "@{u}"])
    expect(() => openSystem({ branch }), branch).toThrow("branch");
  const ssh = { url: "ssh://git@acme.example/app.git", knownHostsFile: join(root, "known_hosts") };
  for (const sshKeyFile of ["/a b", "/a;touch x", "/a%h", "/a'b", '/a"b'])
    expect(() => openSystem({ ...ssh, sshKeyFile }), sshKeyFile).toThrow("sshKeyFile");
  expect(() => openSystem({ author: { name: "a\nb", email: "a@b" } })).toThrow("author");
  expect(() => openSystem({ token: "a\r\nb", url: "https://acme.example/a.git" })).toThrow("token");
});

test("a missing or old git, and a key that cannot be read, are found without the server", async () => {
  const { openSystem, root } = await bench();
  const signingKey = join(root, "no_key");
  await expect(openSystem({ signingKey }).probe!()).rejects.toThrow("the signing key cannot be read");
  const old = await shadowProgram(root, "git", "echo git version 2.37.9");
  await expect((await onPath(old, () => openSystem())).probe!()).rejects.toThrow("install git 2.38 or newer");
  await expect((await onPath(root, () => openSystem())).probe!()).rejects.toThrow("git was not found on PATH");
  await openSystem({ url: "/nowhere.git" }).probe!();
});

test("what another program wrote into the cached clone is not run", async () => {
  const { openAdapter, root } = await bench();
  const folder = join(root, "hostile");
  const { apply, verify, system } = openAdapter({ folder });
  await apply(change(1));
  const touched = join(root, "touched");
  const config = `[core]\n\tsshCommand = touch ${touched}\n\tfsmonitor = touch ${touched}\n\thooksPath = ${folder}/hooks\n[remote "origin"]\n\tuploadpack = touch ${touched};\n\treceivepack = touch ${touched};\n\turl = /nowhere\n[url "ext::touch ${touched} "]\n\tinsteadOf = ${root}\n[protocol]\n\tallow = always\n`;
  await writeFile(join(folder, "config"), config);
  await mkdir(join(folder, "hooks"), { recursive: true });
  for (const name of ["pre-push", "reference-transaction"]) {
    await writeFile(join(folder, "hooks", name), `#!/bin/sh\ntouch ${touched}\n`);
    await chmod(join(folder, "hooks", name), 0o755);
  }
  await apply(change(2, { change_id: "chg_b" }));
  expect([await verify(change(2, { change_id: "chg_b" })), existsSync(touched)]).toEqual(["applied", false]);
  await chmod(folder, 0o755);
  await expect(system.read(entry(1), calm)).rejects.toThrow("mode 0700");
  const elsewhere = openAdapter({ folder: root });
  await expect(elsewhere.system.read(entry(1), calm)).rejects.toThrow("holds something else");
});

describe("over ssh", () => {
  const keys = async (root: string) => {
    const sshKeyFile = join(root, "deploy_key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", sshKeyFile]);
    return { sshKeyFile, knownHostsFile: join(root, "known_hosts") };
  };

  test("only the given key and host keys are used, and nothing else of the user", async () => {
    const { openAdapter, root, bare, show } = await bench();
    const path = await shadowProgram(
      root,
      "ssh",
      `echo "$@" >> '${root}/calls'\nfor last; do :; done\nPATH="$OTHERS" exec sh -c "$last"`,
    );
    const options = { ...(await keys(root)), url: `ssh://git@acme.example:2222${bare}` };
    const { apply } = await onPath(path, () => openAdapter(options));
    await apply(change(1));
    expect(await show("config/limits.json")).toBe("1");
    const calls = (await readFile(join(root, "calls"), "utf8")).trim().split("\n");
    for (const call of calls)
      expect(call).toMatch(
        new RegExp(
          `^-F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=${root}/known_hosts .*-o IdentitiesOnly=yes .*-i ${root}/deploy_key .*git@acme.example git-(?:upload|receive)-pack '${bare}'$`,
        ),
      );
  });

  const sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", process.env["SSHD"]].find((path) => path && existsSync(path));
  if (!sshd)
    process.stdout.write("git over a real ssh server: skipped, there is no sshd (apt-get install openssh-server)\n");

  test.skipIf(!sshd)("a real server takes the push, and one with another host key is not trusted", async () => {
    const { openAdapter, root, bare, show } = await bench();
    const { sshKeyFile, knownHostsFile } = await keys(root);
    const port = await freePort();
    const host = join(root, "host_key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", host]);
    const lines = [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${host}`,
      `AuthorizedKeysFile ${sshKeyFile}.pub`,
      "PidFile none",
      "StrictModes no",
      "UsePAM no",
      "PermitRootLogin prohibit-password",
    ];
    await writeFile(join(root, "sshd_config"), `${lines.join("\n")}\n`);
    if (userInfo().uid === 0) await mkdir("/run/sshd", { recursive: true });
    const server = spawn(sshd!, ["-D", "-e", "-f", join(root, "sshd_config")], { stdio: ["ignore", "ignore", "pipe"] });
    onTestFinished(() => void server.kill());
    await new Promise<void>((done, fail) => {
      let said = "";
      server.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("Server listening")) done();
      });
      server.on("close", () => fail(new Error(`sshd: ${said}`)));
    });
    const trust = async (key: string) => {
      const [type, text] = (await readFile(`${key}.pub`, "utf8")).split(" ");
      await writeFile(knownHostsFile, `[127.0.0.1]:${port} ${type} ${text}\n`);
    };
    await trust(host);
    const { apply, system } = openAdapter({
      url: `ssh://${userInfo().username}@127.0.0.1:${port}${bare}`,
      sshKeyFile,
      knownHostsFile,
    });
    await apply(change(1));
    expect(await show("config/limits.json")).toBe("1");
    await trust(sshKeyFile);
    await expect(system.ping!(calm)).rejects.toThrow("the server's host key is not the one");
  });
});
