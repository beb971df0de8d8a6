/** Real git repositories for tests: a bare repository, commits by another program, and git over HTTP. */
import { execFile, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

const run = promisify(execFile);

const env = {
  PATH: process.env["PATH"],
  HOME: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  ...Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((role) => [
      [`GIT_${role}_NAME`, "Ana"],
      [`GIT_${role}_EMAIL`, "ana@acme.example"],
    ]),
  ),
};

/** Runs git as another program would. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  return (await run("git", ["-C", folder, ...args], { env })).stdout.trimEnd();
}

/** Files by path: text or bytes, `undefined` to remove a file, or a mode with text (for 160000, a commit id). */
export type Files = Record<string, string | Buffer | undefined | { mode: string; text: string }>;

interface CommitOptions {
  branch?: string;
  from?: string;
  message?: string;
  /** False: rejects where the branch has moved meanwhile. */
  isForced?: boolean;
}

export type GitServer = Awaited<ReturnType<typeof gitServer>>;

/** Makes a repository that is removed when the test ends. */
export async function gitServer(files?: Files) {
  const server = await makeGitServer(files);
  onTestFinished(server.remove);
  return server;
}

/** Makes a bare repository with a first commit on `main`. */
export async function makeGitServer(files: Files = { "README.md": "A product.\n" }) {
  const root = await mkdtemp(join(tmpdir(), "git-"));
  const bare = join(root, "app.git");
  for (const folder of ["objects", "refs", "hooks"]) await mkdir(join(bare, folder), { recursive: true });
  await writeFile(join(bare, "HEAD"), "ref: refs/heads/main\n");
  await writeFile(
    join(bare, "config"),
    "[core]\n\tbare = true\n[uploadpack]\n\tallowFilter = true\n[receive]\n\tautogc = false\n",
  );

  /** Commits files on top of `from` (no parent if empty), sets a branch to the commit and returns its id. */
  const commit = async (
    changed: Files,
    { branch = "main", from = branch, message = "An edit", isForced = true }: CommitOptions = {},
  ): Promise<string> => {
    const parts: (string | Buffer)[] = [
      from === "" ? `reset refs/heads/${branch}\n\n` : "",
      `commit refs/heads/${branch}\nmark :1\ncommitter Ana <ana@acme.example> 1767312000 +0000\n`,
      `data ${Buffer.byteLength(message)}\n${message}\n`,
      // fast-import accepts the branch that it commits to as `from` only with `^0`, as its stored commit.
      from === "" ? "" : `from ${from === "main" ? "refs/heads/main^0" : from}\n`,
    ];
    for (const [path, file] of Object.entries(changed)) {
      const name = JSON.stringify(path);
      if (file === undefined) parts.push(`D ${name}\n`);
      else if (typeof file === "object" && "mode" in file && file.mode === "160000")
        parts.push(`M 160000 ${file.text} ${name}\n`);
      else {
        const { mode, text } = typeof file === "object" && "mode" in file ? file : { mode: "100644", text: file };
        parts.push(`M ${mode} inline ${name}\ndata ${Buffer.byteLength(text)}\n`, text, "\n");
      }
    }
    const importing = run("git", ["-C", bare, "fast-import", "--quiet", ...(isForced ? ["--force"] : [])], { env });
    importing.child.stdin!.end(Buffer.concat([...parts, "\nget-mark :1\n"].map((part) => Buffer.from(part))));
    return (await importing).stdout.trim();
  };

  await commit(files, { from: "", message: "First" });

  return {
    root,
    bare,
    commit,
    remove: (): Promise<void> => rm(root, { recursive: true, force: true }),
    git: (...args: string[]): Promise<string> => git(bare, ...args),
    /** Commits on a new branch, as a developer with a patch does; returns the branch to merge into, its commit and the new head. */
    async propose(branch: string, ...steps: Files[]): Promise<{ branch: string; base: string; head: string }> {
      const base = await git(bare, "rev-parse", "main");
      let head = base;
      for (const step of steps) head = await commit(step, { branch, from: head, message: `A step of ${branch}` });
      return { branch: "main", base, head };
    },
    tip: (): Promise<string> => git(bare, "rev-parse", "main"),
    show: (path: string, at = "main"): Promise<string> => git(bare, "show", `${at}:${path}`),
    log: (format: string): Promise<string> => git(bare, "log", "--max-count=1", `--format=${format}`, "main"),
    /** Installs a hook of the server. */
    hook: (name: string, script: string): Promise<void> => writeProgram(join(bare, "hooks", name), script),
  };
}

async function writeProgram(path: string, script: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

/** Returns a PATH on which a script replaces the program of this name; `$OTHERS` in the script is the original PATH. */
export async function shadowProgram(root: string, name: string, script: string): Promise<string> {
  const folder = await mkdtemp(join(root, "path-"));
  const others = process.env["PATH"]!;
  await writeProgram(join(folder, name), `OTHERS='${others}'\n${script}`);
  return `${folder}${delimiter}${others}`;
}

/** Makes two named pipes and a hook script that writes to `started` when it runs, and then waits for a line of `gate`. */
export async function makePipes(root: string): Promise<{ started: string; gate: string; script: string }> {
  const started = join(root, "started");
  const gate = join(root, "gate");
  await run("mkfifo", [started, gate]);
  return { started, gate, script: `echo > '${started}'\nread answer < '${gate}'` };
}

/** Serves the repositories of a folder over http until the test ends. */
export async function serveHttp(root: string) {
  const server = await startHttp(root);
  onTestFinished(server.stop);
  return server;
}

/** Serves the repositories of a folder over http, by git's own program. */
export async function startHttp(root: string) {
  const state = {
    /** Required value of the authorization header; requests without it are rejected. */
    authorization: undefined as string | undefined,
    isReadOnly: false,
    isDown: false,
    /** Runs after a push was carried out; the answer is sent unless it returns false. */
    onPushed: (): boolean => true,
    /** Cuts the connection of a push before the server receives the pack. */
    losesPush: false,
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams, search } = new URL(request.url!, "http://localhost");
    const isPush = `${pathname}${search}`.includes("receive-pack");
    if (state.isDown || (state.losesPush && pathname.endsWith("/git-receive-pack")))
      return void request.socket.destroy();
    if (state.authorization !== undefined && request.headers.authorization !== state.authorization)
      return void response.writeHead(401, { "www-authenticate": "Basic" }).end();
    if (state.isReadOnly && isPush) return void response.writeHead(403).end();
    const { "content-length": length, "content-type": type, "content-encoding": encoding } = request.headers;
    const protocol = request.headers["git-protocol"];
    const backend = spawn("git", ["http-backend"], {
      env: {
        ...env,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: pathname,
        QUERY_STRING: searchParams.toString(),
        REQUEST_METHOD: request.method,
        REMOTE_USER: "countersign",
        ...(type !== undefined && { CONTENT_TYPE: type }),
        ...(length !== undefined && { CONTENT_LENGTH: length }),
        ...(encoding !== undefined && { HTTP_CONTENT_ENCODING: encoding }),
        ...(typeof protocol === "string" && { GIT_PROTOCOL: protocol, HTTP_GIT_PROTOCOL: protocol }),
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    // The program may end before it has read the complete request; its answer is sent nevertheless.
    backend.stdin.on("error", () => undefined);
    request.pipe(backend.stdin);
    const output: Buffer[] = [];
    backend.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    backend.on("close", () => {
      if (isPush && request.method === "POST" && !state.onPushed()) return void request.socket.destroy();
      // As a CGI program it prints headers, of which `Status` is the status of the response, an empty line and the body.
      const bytes = Buffer.concat(output);
      const end = bytes.indexOf("\r\n\r\n");
      const headers = bytes
        .subarray(0, end)
        .toString()
        .split("\r\n")
        .map((line) => line.split(": ") as [string, string]);
      const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
      response.writeHead(Number.parseInt(status), Object.fromEntries(headers.filter(([name]) => name !== "Status")));
      response.end(bytes.subarray(end + 4));
    });
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop });
}
