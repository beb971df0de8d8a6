/** A real Unleash server on a real Postgres, and its official client, for the tests of the Unleash target. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { fetchedFile } from "./fetched_package.ts";
import { freePort } from "./free_port.ts";
import { startPostgres } from "./postgres_server.ts";
import packageJson from "./unleash/package.json" with { type: "json" };

const FOLDER = join(import.meta.dirname, "unleash");
/** API tokens that `unleash/start.mjs` creates, in Unleash's format `project:environment.secret`; `*` stands for all. */
export const ADMIN_TOKEN = "*:*.admin-token-of-the-test";
const CLIENT_TOKEN = "*:development.client-token-of-the-test";

/** The part of the official client that a test uses. */
export interface UnleashClient {
  isEnabled(name: string, context?: { userId?: string; properties?: Record<string, string> }): boolean;
  destroy(): void;
}

/** A running server. */
export interface UnleashServer {
  url: string;
  port: number;
  /** Personal access token of a user with the root role Editor. */
  token: string;
  /** Creates a user with a root role, and returns a personal access token. Once for each role, which is the user's name too. */
  createToken(rootRole: "Editor" | "Viewer"): Promise<string>;
  /** Calls the server as the administrator; rejects where it answers with an error. */
  // oxlint-disable-next-line no-explicit-any -- any JSON
  call(method: string, path: string, body?: unknown): Promise<any>;
  /** Waits until the server has recorded that a flag is archived; a server crashes if the flag is deleted earlier. */
  untilArchived(name: string): Promise<void>;
  /** Archives and deletes a flag. */
  removeFlag(name: string): Promise<void>;
  /** Starts a client that has read the flags. */
  startClient(): Promise<UnleashClient>;
  /** Pauses the database until the returned function is called. */
  pauseDatabase(): Promise<() => void>;
  stop(): Promise<void>;
}

/** Starts a server; rejects with the reason where it cannot. */
export async function startUnleash(): Promise<UnleashServer> {
  const module = await fetchedFile(FOLDER, packageJson, "dist/lib/server-impl.js", { name: "unleash-server" });
  const client = join(module, "../../../../unleash-client/lib/index.js");
  const { startUnleash: startClient } = (await import(pathToFileURL(client).href)) as {
    startUnleash(options: object): Promise<UnleashClient>;
  };
  const postgres = await startPostgres();
  if (!postgres) throw new Error("Unleash needs Postgres");

  const port = await freePort();
  const child = fork(join(FOLDER, "start.mjs"), [module, postgres.url, String(port)], {
    // Unleash runs queries of one transaction concurrently, which its driver reports as deprecated.
    execArgv: ["--no-deprecation"],
    env: { PATH: process.env["PATH"], NODE_ENV: "production" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let isStopping = false;
  child.on("exit", (...ended) => isStopping || process.stderr.write(`the Unleash server ended with ${ended.join()}\n`));
  const stop = async () => {
    isStopping = true;
    const ended = child.exitCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await ended;
    await postgres.stop();
  };
  const ready = await Promise.race([once(child, "message"), once(child, "exit")]);
  if (ready[0] !== "ready") {
    await stop();
    throw new Error(`the Unleash server ended with ${ready[0]}`);
  }

  const url = `http://127.0.0.1:${port}`;
  const request = async (cookie: string, method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { cookie, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return { json: text === "" ? undefined : JSON.parse(text), cookies: response.headers.getSetCookie() };
  };
  const logIn = async (username: string, password: string): Promise<string> => {
    const { cookies } = await request("", "POST", "/auth/simple/login", { username, password });
    return cookies.map((cookie) => cookie.split(";")[0]).join("; ");
  };
  // The password that `unleash/start.mjs` sets.
  const administrator = await logIn("admin", "unleash4all");
  const call: UnleashServer["call"] = async (method, path, body) =>
    (await request(administrator, method, path, body)).json;
  const createToken = async (rootRole: "Editor" | "Viewer"): Promise<string> => {
    const password = "Long-enough-4-Unleash";
    const username = rootRole.toLowerCase();
    // The ids that Unleash gives its root roles.
    const role = rootRole === "Editor" ? 2 : 3;
    await call("POST", "/api/admin/user-admin", { username, password, rootRole: role, sendEmail: false });
    const token = { description: "test", expiresAt: new Date(Date.now() + 86_400_000).toISOString() };
    return (await request(await logIn(username, password), "POST", "/api/admin/user/tokens", token)).json.secret;
  };

  const untilArchived = async (name: string): Promise<void> => {
    const path = `/api/admin/projects/default/features/${name}/lifecycle`;
    const readStages = async (): Promise<string[]> =>
      (await call("GET", path)).map(({ stage }: { stage: string }) => stage);
    const isRecorded = (stages: string[]) => stages.includes("initial") && stages.includes("archived");
    while (!isRecorded(await readStages())) await sleep(50);
  };

  return {
    url,
    port,
    token: await createToken("Editor"),
    createToken,
    call,
    untilArchived,
    async removeFlag(name) {
      await call("DELETE", `/api/admin/projects/default/features/${name}`);
      await untilArchived(name);
      await call("DELETE", `/api/admin/archive/${name}`);
    },
    startClient: () =>
      startClient({
        url: `${url}/api/`,
        appName: "test",
        customHeaders: { Authorization: CLIENT_TOKEN },
        disableMetrics: true,
        refreshInterval: 100,
        skipInstanceCountWarning: true,
        // Without a backup on disk, so that a client has only flags of this server.
        storageProvider: { get: async () => undefined, set: async () => undefined },
      }),
    async pauseDatabase() {
      // The processes of all other connections, and the postmaster, which accepts new connections.
      const { rows } = await postgres.pool.query<{ pids: number[] }>(
        `select array_agg(pid) || split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int as pids
         from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      );
      const signal = (name: NodeJS.Signals) => rows[0]!.pids.forEach((pid) => process.kill(pid, name));
      signal("SIGSTOP");
      return () => signal("SIGCONT");
    },
    stop,
  };
}
