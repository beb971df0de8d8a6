/** Files, names, addresses, programs and keys that the git target system rejects; over ssh, the server that it trusts. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../support/free_port.ts";
import { neverAborted, change, entry, gitBench, onPath } from "../../support/git_bench.ts";
import { shadowProgram } from "../../support/git_server.ts";

test("a file that is not a plain JSON file is rejected with the reason", async () => {
  // The file of a target is `config/<target>.json`.
  const { openAdapter } = await gitBench({
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
    expect(await adapter.validate(change(1, { target }), neverAborted)).toEqual({
      ok: false,
      reason: expect.stringContaining(reason),
    });
  await expect(apply(change(1, { target: "case" }))).rejects.toThrow("differs in case only");
});

test("a path that leads elsewhere is rejected, and a missing branch says so", async () => {
  const { openSystem, openAdapter } = await gitBench();
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
    "a\u202eb",
    "a\\b",
    "a*",
  ];
  const system = openSystem({ path: ({ target }) => `${target}.json` });
  for (const target of paths) expect(system.check(entry(1, { target })), target).toContain("the path");
  expect(openSystem({ path: () => "a.yaml" }).check(entry(1))).toContain("does not end in .json");
  const { adapter, system: systemWithoutBranch } = openAdapter({ branch: "gone" });
  await expect(adapter.validate(change(1), neverAborted)).rejects.toThrow("the branch gone does not exist");
  await expect(systemWithoutBranch.ping!(neverAborted)).rejects.toThrow("the branch gone does not exist");
});

test("an address or option that could run a program is rejected at the start", async () => {
  const { openSystem, root } = await gitBench();
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
  const { openSystem, root } = await gitBench();
  const signingKey = join(root, "no_key");
  await expect(openSystem({ signingKey }).probe!()).rejects.toThrow("the signing key cannot be read");
  const oldGitPath = await shadowProgram(root, "git", "echo git version 2.37.9");
  await expect((await onPath(oldGitPath, () => openSystem())).probe!()).rejects.toThrow("install git 2.38 or newer");
  await expect((await onPath(root, () => openSystem())).probe!()).rejects.toThrow("git was not found on PATH");
  // The probe does not call the server, so an address without a repository passes.
  await openSystem({ url: "/nowhere.git" }).probe!();
});

test("hooks and settings that another program wrote into the cached clone are not run", async () => {
  const { openAdapter, root } = await gitBench();
  const folder = join(root, "hostile");
  const { apply, verify, system } = openAdapter({ folder });
  await apply(change(1));
  const touchedFile = join(root, "touched");
  const config = `[core]\n\tsshCommand = touch ${touchedFile}\n\tfsmonitor = touch ${touchedFile}\n\thooksPath = ${folder}/hooks\n[remote "origin"]\n\tuploadpack = touch ${touchedFile};\n\treceivepack = touch ${touchedFile};\n\turl = /nowhere\n[url "ext::touch ${touchedFile} "]\n\tinsteadOf = ${root}\n[protocol]\n\tallow = always\n`;
  await writeFile(join(folder, "config"), config);
  await mkdir(join(folder, "hooks"), { recursive: true });
  for (const name of ["pre-push", "reference-transaction"]) {
    await writeFile(join(folder, "hooks", name), `#!/bin/sh\ntouch ${touchedFile}\n`);
    await chmod(join(folder, "hooks", name), 0o755);
  }
  await apply(change(2, { change_id: "chg_b" }));
  expect([await verify(change(2, { change_id: "chg_b" })), existsSync(touchedFile)]).toEqual(["applied", false]);
  await chmod(folder, 0o755);
  await expect(system.read(entry(1), neverAborted)).rejects.toThrow("mode 0700");
  const elsewhere = openAdapter({ folder: root });
  await expect(elsewhere.system.read(entry(1), neverAborted)).rejects.toThrow("holds something else");
});

describe("over ssh", () => {
  const makeKeys = async (root: string) => {
    const sshKeyFile = join(root, "deploy_key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", sshKeyFile]);
    return { sshKeyFile, knownHostsFile: join(root, "known_hosts") };
  };

  test("only the given key and host keys are used, and nothing else of the user", async () => {
    const { openAdapter, root, bare, show } = await gitBench();
    // The last argument is the command for the server; it runs here instead, on the original PATH (`$OTHERS`).
    const path = await shadowProgram(
      root,
      "ssh",
      `echo "$@" >> '${root}/calls'\nfor last; do :; done\nPATH="$OTHERS" exec sh -c "$last"`,
    );
    const options = { ...(await makeKeys(root)), url: `ssh://git@acme.example:2222${bare}` };
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
    const { openAdapter, root, bare, show } = await gitBench();
    const { sshKeyFile, knownHostsFile } = await makeKeys(root);
    const port = await freePort();
    const hostKey = join(root, "host_key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", hostKey]);
    const lines = [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${hostKey}`,
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
    await new Promise<void>((resolve, reject) => {
      let output = "";
      server.stderr.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (output.includes("Server listening")) resolve();
      });
      server.on("close", () => reject(new Error(`sshd: ${output}`)));
    });
    const trustHostKey = async (key: string) => {
      const [type, text] = (await readFile(`${key}.pub`, "utf8")).split(" ");
      await writeFile(knownHostsFile, `[127.0.0.1]:${port} ${type} ${text}\n`);
    };
    await trustHostKey(hostKey);
    const { apply, system } = openAdapter({
      url: `ssh://${userInfo().username}@127.0.0.1:${port}${bare}`,
      sshKeyFile,
      knownHostsFile,
    });
    await apply(change(1));
    expect(await show("config/limits.json")).toBe("1");
    await trustHostKey(sshKeyFile);
    await expect(system.ping!(neverAborted)).rejects.toThrow("the server's host key is not the one");
  });
});
