/** A real etcd server for one test file. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "./free_port.ts";

/** A running server, which is empty at its start. */
export interface EtcdServer {
  url: string;
  /** Sends a request to the JSON gateway, and throws unless the answer is 200. */
  post(path: string, body: unknown, token?: string): Promise<Record<string, unknown>>;
  signal(name: NodeJS.Signals): void;
  /** Kills the server and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Returns the Base64 of a text, in which the gateway encodes keys and values. */
export const encodeBase64 = (text: string): string => Buffer.from(text).toString("base64");

/** Starts a server; where it cannot, prints the reason and returns undefined. */
export async function startEtcd(args: readonly string[] = []): Promise<EtcdServer | undefined> {
  try {
    execFileSync("etcd", ["--version"], { stdio: "ignore" });
  } catch (error) {
    process.stderr.write(`etcd is not tested here: ${(error as Error).message.slice(0, 200)}\n`);
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), "countersign-etcd-"));
  const [url, peerUrl] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const flags = {
    name: "t",
    "data-dir": join(folder, "data"),
    "listen-client-urls": url,
    "advertise-client-urls": url,
    "listen-peer-urls": peerUrl,
    "initial-advertise-peer-urls": peerUrl,
    "initial-cluster": `t=${peerUrl}`,
  };
  const options = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  const start = () => waitUntilReady(spawn("etcd", [...options, ...args], { stdio: ["ignore", "ignore", "pipe"] }));
  let server = await start();
  const stopWith = async (name: NodeJS.Signals) => {
    const ended = once(server, "exit");
    server.kill(name);
    await ended;
  };
  const atExit = () => void server.kill("SIGKILL");
  process.once("exit", atExit);
  return {
    url,
    async post(path, body, token) {
      const headers = token === undefined ? {} : { authorization: token };
      const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
      const answer = await response.text();
      if (!response.ok) throw new Error(`etcd answered ${response.status}: ${answer}`);
      return JSON.parse(answer);
    },
    signal: (name) => void server.kill(name),
    async crash() {
      await stopWith("SIGKILL");
      server = await start();
    },
    async stop() {
      process.off("exit", atExit);
      await stopWith("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when a server serves clients; rejects with its log when the server ends earlier. */
function waitUntilReady(server: ChildProcess): Promise<ChildProcess> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    createInterface(server.stderr!).on("line", (line) => {
      lines.push(line);
      if (line.includes("serving insecure client requests")) resolve(server);
    });
    server.once("error", reject);
    server.once("close", () => reject(new Error(`etcd ended before it was ready\n${lines.join("\n")}`)));
  });
}
