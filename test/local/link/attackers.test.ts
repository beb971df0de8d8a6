/** Tests the link against attackers on real sockets: replays, idle sockets, and forged insights. */
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { helloFrame } from "../../../lib/link/handshake.ts";
import { deriveSecretKey } from "../../../lib/link/keys.ts";
import { waitUntilLinked, restartNode, SECRET, startNode, stopAll, stopNode } from "./node.ts";
import { waitForClose, makeRawInsight, connectRawPeer, openSilentSocket, RAW_PEER_IDENTITY } from "./raw_peer.ts";
import { recordingProxy } from "./recording_proxy.ts";

const at = (host: string) => ({ host, port: 0 });
const acme = { product_id: "acme", product_type: "crm" };
afterEach(stopAll);

describe("an attacker", () => {
  test("that connects a node to itself is rejected", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const restarted = await restartNode(node, { listenAt: at("127.0.0.2"), peers: [node.at] });
    await restarted.log.waitForLine("link cannot be made");
    expect((await node.log.waitForLine("link connection refused")).fields["reason"]).toMatch(/own peer_id/);
  });

  test("that replays the recorded bytes of a peer is rejected", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const proxy = await recordingProxy(node.at);
    const peer = await startNode({ name: "2", ...acme, peers: [proxy.at] });
    await waitUntilLinked(node, peer);
    await peer.addOutcome();
    await peer.link.sync();
    expect(await node.insights()).toHaveLength(1);
    await stopNode(peer);
    await proxy.close();
    await node.log.waitForLine("link down");
    const linesBefore = node.log.lines.length;

    const socket = await openSilentSocket(node.at);
    socket.write(proxy.fromClient());
    await waitForClose(socket);
    const reported = await node.log.waitForLine("link connection refused", linesBefore);
    expect(reported.fields["reason"]).toBe("the client does not hold the secret");
    expect(node.log.lines.slice(linesBefore).map(({ message }) => message)).not.toContain("link up");
  });

  test("with 500 idle sockets does not keep peers from connecting", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    // Half of them come from the address of the peer.
    const sockets = await Promise.all(
      Array.from({ length: 500 }, (_, i) => openSilentSocket(node.at, i % 2 ? "127.0.0.1" : `127.0.1.${i % 100}`)),
    );
    let closedCount = 0;
    const enoughClosed = new Promise<void>((resolve) => {
      for (const socket of sockets)
        socket.once("close", () => {
          closedCount++;
          // The node keeps 64 unauthenticated connections.
          if (closedCount === sockets.length - 64) resolve();
        });
    });
    const started = performance.now();
    const peer = await startNode({ name: "2", ...acme, peers: [node.at] });
    await waitUntilLinked(node, peer);
    const connected = performance.now();
    expect(await peer.link.query("/api/state")).toMatchObject([{ status: 200 }]);
    const formatMs = (from: number, to: number) => `${(to - from).toFixed(1)} ms`;
    process.stdout.write(
      `a good peer among 500 idle sockets: connected after ${formatMs(started, connected)}, a query took ${formatMs(connected, performance.now())}\n`,
    );
    await enoughClosed;
    for (const socket of sockets) socket.destroy();
  });

  test("that sends a HELLO on 64 connections does not keep peers from connecting", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const hello = helloFrame(RAW_PEER_IDENTITY, deriveSecretKey(SECRET).kid, new Uint8Array(32));
    const sockets = await Promise.all(
      Array.from({ length: 64 }, async (_, i) => {
        // Eight connections from each of eight addresses, as many as the node admits.
        const socket = await openSilentSocket(node.at, `127.0.1.${1 + (i % 8)}`);
        socket.write(hello);
        await once(socket, "data");
        return socket;
      }),
    );
    const peer = await startNode({ name: "2", ...acme, peers: [node.at] });
    await waitUntilLinked(node, peer);
    for (const socket of sockets) socket.destroy();
  });

  test("that knows the secret cannot send an insight in another instance's name, and is counted", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const peer = await connectRawPeer(node.at, { self: { ...RAW_PEER_IDENTITY, ...acme } });
    await peer.nextEvent("established");
    const insight = makeRawInsight("acme@9", "ins_x");
    peer.socket.write(peer.link.request(1, "share_evolution_insight", { insights: [insight] }));
    expect(await peer.nextEvent("response")).toMatchObject({
      status: 200,
      body: { kept: 0, refused: [{ insight_id: "ins_x" }] },
    });
    expect((await node.get("/api/product/co-evolution")).body).toMatchObject({ insights: [], counts: { refused: 1 } });
    peer.socket.destroy();
  });
});
