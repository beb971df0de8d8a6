/** Tests the link against a second implementation in Python, written from lib/link/README.md, in both directions. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { SECRET, startNode, stopAll } from "./node.ts";

const program = join(import.meta.dirname, "../../../docs/link_peer.py");
const children = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  await stopAll();
});

const hasPython = (() => {
  try {
    return execFileSync("python3", ["--version"]).length > 0;
  } catch {
    return false;
  }
})();

type Line = Record<string, unknown>;

interface PythonPeer {
  /** Returns the next line that the program prints; undefined after its end. */
  nextLine(): Promise<Line | undefined>;
  ended: Promise<number | null>;
}

function startPython(args: readonly string[], secret = SECRET): PythonPeer {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], SVC_CROSS_LINK_SECRET: secret };
  const child = spawn("python3", [program, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    nextLine: async () => {
      const { value, done } = await lines.next();
      return done ? undefined : (JSON.parse(value) as Line);
    },
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
}

const acme = { product_id: "acme", product_type: "crm" };
const listenAt = { host: "127.0.0.1", port: 0 };

describe.skipIf(!hasPython)(`the Python peer${hasPython ? "" : " (skipped: there is no python3 here)"}`, () => {
  test("computes the published test vectors", async () => {
    const page = join(import.meta.dirname, "../../../lib/link/README.md");
    expect(await startPython(["vectors", page]).nextLine()).toEqual({ wrong: [] });
  });

  test("connects, sends requests and answers a request", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt });
    const peer = startPython([
      "connect",
      `127.0.0.1:${node.at.port}`,
      "query_product_identity",
      "/api/state",
      "/api/secret",
    ]);
    expect(await peer.nextLine()).toMatchObject({ peer: { peer_id: node.link.self.peer_id, instance_id: "acme@1" } });
    const responses = [await peer.nextLine(), await peer.nextLine(), await peer.nextLine()];
    expect(Object.fromEntries(responses.map((response) => [String(response!["question"]), response]))).toMatchObject({
      query_product_identity: { status: 200, body: { ...acme, node_id: "1" } },
      "/api/state": { status: 200, body: { tick: 0 } },
      // A peer may read only `READ_PATHS` of lib/link/messages.ts.
      "/api/secret": { status: 400, body: { code: "invalid_field" } },
    });
    expect(await peer.ended).toBe(0);
    expect((await node.get("/api/peers")).body.peers).toMatchObject([
      { instance_id: "python-peer", relation: "other", trust: 0 },
    ]);
  });

  test("accepts a connection and exchanges insights", async () => {
    const peer = startPython(["listen", "127.0.0.1:0", "/api/product/identity"]);
    const port = (await peer.nextLine())!["listening"] as number;
    const node = await startNode({ name: "1", ...acme, peers: [{ host: "127.0.0.1", port: port }] });
    expect(await peer.nextLine()).toMatchObject({ peer: { peer_id: node.link.self.peer_id } });
    expect(await peer.nextLine()).toMatchObject({ status: 200, body: { instance_id: "acme@1" } });
    expect(await node.link.sync()).toMatchObject({ peers: [{ ok: true }] });
    expect(await node.link.query("query_product_identity")).toMatchObject([
      { status: 200, body: { instance_id: "python-peer" } },
    ]);
    await node.link.close();
    expect(await peer.nextLine()).toMatchObject({ ended: expect.any(String) });
    expect(await peer.ended).toBe(0);
  });

  test("rejects and is rejected by a peer with another secret", async () => {
    const otherSecret = "another secret, just as long as it";
    const node = await startNode({ name: "1", ...acme, listenAt });
    expect(await startPython(["connect", `127.0.0.1:${node.at.port}`], otherSecret).nextLine()).toMatchObject({
      ended: expect.any(String),
    });
    const peer = startPython(["listen", "127.0.0.1:0"], otherSecret);
    const port = (await peer.nextLine())!["listening"] as number;
    const client = await startNode({ name: "2", ...acme, peers: [{ host: "127.0.0.1", port: port }] });
    expect(await peer.nextLine()).toEqual({ ended: "the client uses another secret" });
    await client.log.waitForLine("link cannot be made");
  });
});
