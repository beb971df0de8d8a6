/** Tests the limits of a connection of the link: time, size and number of requests, and when it is closed. */
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { countersign } from "../../../handlers/index.ts";
import { type CrossLink, openCrossLink } from "../../../local/cross_link.ts";
import { waitUntilLinked, SECRET, startNode, stopAll } from "./node.ts";
import { manualTime } from "./manual_timers.ts";
import { waitForClose, connectRawPeer, openSilentSocket, RAW_PEER_IDENTITY } from "./raw_peer.ts";
import { recordedLog } from "./recorded_log.ts";

const LOOPBACK = { host: "127.0.0.1", port: 0 };
afterEach(stopAll);

const startListeningNode = () => startNode({ name: "a", product_id: "acme", listenAt: LOOPBACK });

/** Connects an authenticated peer, to which the node sends its first requests. */
async function connectAuthenticatedPeer(at: { host: string; port: number }) {
  const peer = await connectRawPeer(at);
  await peer.nextEvent("established");
  return peer;
}

describe("a connection is closed without a message", () => {
  test("5 s after its start when the handshake is not over: silent, slow, or stopped after HELLO", async () => {
    const node = await startListeningNode();
    const silent = await openSilentSocket(node.at);
    const slow = await openSilentSocket(node.at);
    slow.write(Uint8Array.of(0, 0));
    const halfway = await connectRawPeer(node.at, { stopAfterHello: true });
    await once(halfway.socket, "data");
    node.time.advance(4_900);
    slow.write(Uint8Array.of(0));
    const closed = [silent, slow, halfway.socket].map((socket) => waitForClose(socket));
    node.time.advance(100);
    await Promise.all(closed);
    expect([silent, slow].map((socket) => socket.bytesRead)).toEqual([0, 0]);
    // Rejections that follow closely are counted, and logged with the next line.
    expect(node.log.lines.filter(({ message }) => message === "link connection refused")).toHaveLength(1);
  });

  test("immediately when the first four bytes announce too long a frame", async () => {
    const node = await startListeningNode();
    const socket = await openSilentSocket(node.at);
    const closed = waitForClose(socket);
    socket.write(Uint8Array.of(0x7f, 255, 255, 255));
    await closed;
    expect(socket.bytesRead).toBe(0);
    expect(await node.log.waitForLine("link connection refused")).toMatchObject({
      fields: { reason: expect.stringMatching(/was announced/) },
    });
  });

  test("immediately when an authenticated peer announces more than 256 KiB", async () => {
    const node = await startListeningNode();
    const peer = await connectAuthenticatedPeer(node.at);
    peer.socket.write(Uint8Array.of(0, 4, 0, 1));
    await peer.closed;
    expect((await node.log.waitForLine("link down")).fields["reason"]).toMatch(/262145 bytes/);
  });

  test("after 45 s without a complete frame, whatever the number of bytes received", async () => {
    const node = await startListeningNode();
    const peer = await connectAuthenticatedPeer(node.at);
    peer.socket.write(peer.link.request(1, "query_product_identity", {}));
    await peer.nextEvent("response");
    peer.stopAnswering();
    const frame = peer.link.request(1, "query_product_identity", {});
    for (let second = 0; second < 45; second++) {
      peer.socket.write(frame.subarray(second, second + 1));
      await new Promise(setImmediate); // the node reads the byte in the next turn of the event loop
      node.time.advance(1_000);
    }
    await peer.closed;
    expect((await node.log.waitForLine("link down")).fields["reason"]).toBe("nothing came from the other end");
  });

  test("after 45 s of silence, also when the system clock is set back meanwhile", async () => {
    const node = await startListeningNode();
    const peer = await connectAuthenticatedPeer(node.at);
    peer.stopAnswering();
    node.time.clock.advance(-3_600_000);
    node.time.advance(45_000);
    await peer.closed;
    expect((await node.log.waitForLine("link down")).fields["reason"]).toBe("nothing came from the other end");
  });

  test("when the other end does not read", async () => {
    const { link, log } = await openLinkTo(async () => Response.json("x".repeat(200_000)));
    const peer = await connectAuthenticatedPeer({ host: "127.0.0.1", port: Number(link.self.address!.split(":")[1]) });
    peer.socket.pause();
    let isConnected = true;
    void log.waitForLine("link down").then(() => (isConnected = false));
    for (let id = 1; isConnected && id < 2_000; id++) {
      peer.socket.write(peer.link.request(id, "query", { path: "/api/state" }));
      await new Promise(setImmediate);
    }
    expect((await log.waitForLine("link down")).fields["reason"]).toBe("the other end does not read what it is sent");
    peer.socket.destroy();
    await link.close();
  });
});

test("a peer is pinged every 15 s, and stays connected while it answers", async () => {
  const node = await startListeningNode();
  const peer = await connectRawPeer(node.at);
  await peer.nextEvent("established");
  for (let ping = 0; ping < 8; ping++) {
    node.time.advance(15_000);
    peer.socket.write(peer.link.request(100 + ping, "query_product_identity", {}));
    await peer.nextEvent("response");
  }
  expect((await node.link.peers())[0]).toMatchObject({ state: "up", rtt_ms: expect.any(Number) });
  peer.socket.destroy();
});

test("64 concurrent requests of a peer are answered, and the next request gets 429", async () => {
  let releaseAnswers = () => {};
  const gate = new Promise<void>((resolve) => (releaseAnswers = resolve));
  const { link } = await openLinkTo(() => gate.then(() => Response.json({})));
  const peer = await connectAuthenticatedPeer({ host: "127.0.0.1", port: Number(link.self.address!.split(":")[1]) });
  for (let id = 1; id <= 65; id++) peer.socket.write(peer.link.request(id, "query", { path: "/api/state" }));
  expect(await peer.nextEvent("response")).toMatchObject({ id: 65, status: 429 });
  releaseAnswers();
  expect(await peer.nextEvent("response")).toMatchObject({ status: 200 });
  peer.socket.destroy();
  await link.close();
});

test("a request without a response in 5 s fails, and the connection stays open", async () => {
  const node = await startListeningNode();
  const peer = await connectAuthenticatedPeer(node.at);
  const answers = node.link.query("/api/state", RAW_PEER_IDENTITY.peer_id);
  // Skips the requests that the node sends by itself after connecting.
  for (;;) if ((await peer.nextEvent("request")).message === "query") break;
  node.time.advance(5_000);
  expect(await answers).toMatchObject([{ status: 504, body: { code: "peer_timeout" } }]);
  expect(await node.link.peers()).toMatchObject([{ state: "up" }]);
  peer.socket.destroy();
});

test("a request fails when its connection breaks", async () => {
  const node = await startListeningNode();
  const peer = await connectAuthenticatedPeer(node.at);
  const answers = node.link.query("/api/state", RAW_PEER_IDENTITY.peer_id);
  await peer.nextEvent("request");
  peer.socket.destroy();
  expect(await answers).toMatchObject([{ status: 503, body: { code: "peer_unreachable" } }]);
});

test("a newer connection of a peer replaces an older, half-open one and takes over its requests", async () => {
  const node = await startListeningNode();
  const older = await connectAuthenticatedPeer(node.at);
  const answers = node.link.query("query_product_identity", RAW_PEER_IDENTITY.peer_id);
  for (;;) if ((await older.nextEvent("request")).message === "query_product_identity") break;
  const newer = await connectAuthenticatedPeer(node.at);
  await older.closed;
  for (;;) {
    const { id, message } = await newer.nextEvent("request");
    if (message !== "query_product_identity") continue;
    newer.socket.write(newer.link.respond(id, 200, { from: "newer" }));
    break;
  }
  expect(await answers).toMatchObject([{ status: 200, body: { from: "newer" } }]);
  expect(await node.link.peers()).toMatchObject([{ state: "up" }]);
  newer.socket.destroy();
});

test("a failing endpoint is answered with 500, without the error's message", async () => {
  const { link, log } = await openLinkTo(() => Promise.reject(new Error("secret detail")));
  const peer = await connectAuthenticatedPeer({ host: "127.0.0.1", port: Number(link.self.address!.split(":")[1]) });
  peer.socket.write(peer.link.request(1, "query", { path: "/api/state" }));
  const { status, body } = await peer.nextEvent("response");
  expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining("secret")]);
  expect((await log.waitForLine("answering a peer failed")).fields["error"]).toMatch("secret detail");
  peer.socket.destroy();
  await link.close();
});

test("two nodes stay connected for minutes of pings", async () => {
  const time = manualTime();
  const a = await startNode({ name: "a", product_id: "acme", listenAt: LOOPBACK, time });
  const b = await startNode({ name: "b", product_id: "acme", peers: [a.at], time });
  await waitUntilLinked(a, b);
  for (let i = 0; i < 20; i++) {
    time.advance(15_000);
    expect(await b.link.query("/api/state")).toMatchObject([{ status: 200 }]);
    expect(await a.link.query("/api/state")).toMatchObject([{ status: 200 }]);
  }
});

/** Opens a link that answers the requests of peers by `fetch`. */
async function openLinkTo(
  fetch: () => Promise<Response>,
): Promise<{ link: CrossLink; log: ReturnType<typeof recordedLog> }> {
  const log = recordedLog();
  const { clock, timers } = manualTime();
  const { deps } = await countersign({ store: memoryStore(), log, clock });
  return {
    log,
    link: await openCrossLink({
      deps,
      fetch,
      secrets: [SECRET],
      listenAt: LOOPBACK,
      peers: [],
      nodeId: "bare",
      timers,
    }),
  };
}
