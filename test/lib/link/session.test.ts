/** Sessions of the link: the handshake, and messages after it. */
import { describe, expect, test } from "vitest";
import { FRAME, LENGTH_BYTES, makeFrame, MAX_PROVEN_BYTES, MAX_UNPROVEN_BYTES } from "../../../lib/link/frames.ts";
import { challengeFrame, helloFrame } from "../../../lib/link/handshake.ts";
import { portableMac, deriveSessionKeys, makeTranscript } from "../../../lib/link/keys.ts";
import { toBytes } from "../../../lib/link/payload.ts";
import type { LinkEvent, Session } from "../../../lib/link/session.ts";
import { end, established, flipped, identity, KEY, kinds, OTHER_KEY, shake } from "./test_sessions.ts";

const findViolation = (events: readonly LinkEvent[]): string | undefined =>
  events.flatMap((event) => (event.kind === "violation" ? [event.reason] : []))[0];
const nonce = new Uint8Array(32).fill(9);

describe("the handshake", () => {
  test("gives each end the identity of the other, in four frames", () => {
    const passed = shake(end("client"), end("server"));
    expect(passed.client).toEqual([{ kind: "established", peer: identity("b") }]);
    expect(passed.server).toEqual([{ kind: "established", peer: identity("a") }]);
    // The type follows the length.
    expect(passed.frames.map(({ from, bytes }) => [from, bytes[LENGTH_BYTES]])).toEqual([
      ["client", FRAME.hello],
      ["server", FRAME.challenge],
      ["client", FRAME.proof],
      ["server", FRAME.proof],
    ]);
  });

  test("fails for the client at any changed byte; for the server if it is not in the last frame", () => {
    const lengths = shake(end("client"), end("server")).frames.map(({ bytes }) => bytes.length);
    for (const [index, length] of lengths.entries())
      for (let at = 0; at < length; at++)
        for (const bits of [1, 0x80]) {
          const passed = shake(end("client"), end("server"), (bytes, sent) =>
            sent === index ? flipped(bytes, at, bits) : bytes,
          );
          const established = [...kinds(passed.client), ...kinds(passed.server)].filter(
            (kind) => kind === "established",
          );
          const where = `frame ${index}, byte ${at}`;
          // The server has established the session before it sends the last frame.
          expect(established.length, where).toBe(index === 3 ? 1 : 0);
          expect(kinds(passed.client), where).not.toContain("established");
        }
  });

  test("fails with different secrets, without revealing the proof of either end", () => {
    const [client, server] = [end("client", { keys: [OTHER_KEY] }), end("server")];
    const passed = shake(client, server);
    expect(findViolation(passed.server)).toMatch(/not one of this node's/);
    // Only the HELLO was sent.
    expect(passed.frames).toHaveLength(1);
  });

  test("fails for a server that only replays recorded frames", () => {
    const recorded = shake(end("client"), end("server")).frames;
    const client = end("client", { nonce: 5 });
    client.open();
    const challenged = client.receive(recorded[1]!.bytes);
    expect(challenged.send).toHaveLength(1);
    expect(kinds(client.receive(recorded[3]!.bytes).events)).toEqual(["violation"]);
  });

  test("fails for a client that replays recorded frames, since the server's nonce is new", () => {
    const recorded = shake(end("client"), end("server")).frames.filter(({ from }) => from === "client");
    const server = end("server", { nonce: 77 });
    const events = recorded.flatMap(({ bytes }) => server.receive(bytes).events);
    expect(findViolation(events)).toBe("the client does not hold the secret");
    expect(server.established).toBe(false);
  });

  test("rejects reflected frames at both ends", () => {
    const client = end("client");
    const [hello] = client.open();
    const mirror = end("server", { peer: "a" });
    expect(findViolation(mirror.receive(hello!).events)).toMatch(/own peer_id/);
    expect(findViolation(client.receive(challengeFrame(identity("a"), nonce)).events)).toMatch(/own peer_id/);
  });

  test("rejects a server that sends the client's own proof back", () => {
    const client = end("client");
    const server = end("server");
    const [challenge] = server.receive(client.open()[0]!).send;
    const [proof] = client.receive(challenge!).send;
    expect(findViolation(client.receive(proof!).events)).toBe("the server does not hold the secret");
  });

  test("accepts every shared secret and sends the first, so that secrets can be rotated", () => {
    const both = [OTHER_KEY, KEY];
    for (const [client, server] of [
      [[KEY], both],
      [both, [OTHER_KEY]],
      [both, [KEY, OTHER_KEY]],
    ] as const)
      expect(kinds(shake(end("client", { keys: client }), end("server", { keys: server })).client)).toEqual([
        "established",
      ]);
    expect(kinds(shake(end("client", { keys: both }), end("server")).client)).not.toContain("established");
  });

  test.each([
    ["another version", { v: 2 }, /opening frame's v/],
    ["no peer_id", { peer_id: "" }, /peer_id/],
    ["a short nonce", { nonce: "00" }, /nonce/],
    ["a name with a line break", { instance_id: "a\nb" }, /instance_id/],
    ["a name of 201 characters", { product_id: "x".repeat(201) }, /product_id/],
  ])("rejects a HELLO with %s", (_, changed, reason) => {
    const hello = { v: 1, kid: KEY.kid, ...identity("a"), nonce: "0".repeat(64), ...changed };
    const { send, events } = end("server").receive(makeFrame(FRAME.hello, toBytes(hello)));
    expect(send).toEqual([]);
    expect(findViolation(events)).toMatch(reason);
  });

  test("accepts a HELLO without a product, and ignores unknown fields", () => {
    const hello = { v: 1, kid: KEY.kid, peer_id: "a".repeat(32), instance_id: "i", nonce: "0".repeat(64), more: 1 };
    expect(end("server").receive(makeFrame(FRAME.hello, toBytes(hello))).send).toHaveLength(1);
  });

  test("must begin with a HELLO", () => {
    const proof = makeFrame(FRAME.proof, new Uint8Array(32));
    const request = makeFrame(FRAME.request, toBytes({ id: 1 }));
    const malformedHello = makeFrame(FRAME.hello, toBytes([]));
    for (const first of [proof, request, malformedHello])
      expect(kinds(end("server").receive(first).events)).toEqual(["violation"]);
  });

  test("ends at a frame of more than 1 KiB, the limit before both ends have proved the secret", () => {
    const server = end("server");
    const announced = Uint8Array.of(0, 0, (MAX_UNPROVEN_BYTES + 1) >> 8, (MAX_UNPROVEN_BYTES + 1) & 255);
    expect(findViolation(server.receive(announced).events)).toMatch(/1025 bytes was announced/);
    expect(server.receive(helloFrame(identity("a"), KEY.kid, nonce))).toEqual({ send: [], events: [] });
  });

  test("sends nothing when it rejects", () => {
    const server = end("server", { keys: [OTHER_KEY] });
    expect(server.receive(helloFrame(identity("a"), KEY.kid, nonce)).send).toEqual([]);
  });
});

describe("a session", () => {
  const sendRequest = (from: Session, to: Session) =>
    to.receive(from.request(1, "query", { path: "/api/state" })).events;
  const requestEvent = { kind: "request", id: 1, message: "query", body: { path: "/api/state" } };

  test("transmits requests and responses in both directions", () => {
    const { client, server } = established();
    expect(sendRequest(client, server)).toEqual([requestEvent]);
    expect(sendRequest(server, client)).toEqual([requestEvent]);
    expect(client.receive(server.respond(1, 200, { é: [1] })).events).toEqual([
      { kind: "response", id: 1, status: 200, body: { é: [1] } },
    ]);
  });

  test("answers a ping with a pong", () => {
    const { client, server } = established();
    const { send } = server.receive(client.ping());
    expect(client.receive(send[0]!).events).toEqual([{ kind: "pong" }]);
  });

  test("ends when any byte of a frame is changed", () => {
    const length = established().client.request(1, "query", {}).length;
    for (let at = 0; at < length; at++) {
      const { client, server } = established();
      const { events } = server.receive(flipped(client.request(1, "query", {}), at));
      expect(
        events.filter(({ kind }) => kind !== "violation"),
        `byte ${at}`,
      ).toEqual([]);
      // With another length the frame is too long or incomplete, so that a violation may come later.
      if (at >= LENGTH_BYTES) expect(kinds(events), `byte ${at}`).toEqual(["violation"]);
    }
  });

  test("ends when a frame is repeated, missing or out of order", () => {
    for (const order of [[0, 0], [1], [0, 2]]) {
      const { client, server } = established();
      const sent = [client.ping(), client.ping(), client.ping()];
      const events = order.flatMap((index) => server.receive(sent[index]!).events);
      expect(findViolation(events), String(order)).toMatch(/out of sequence/);
    }
  });

  test("ends when a frame is sent back to its sender", () => {
    const { client } = established();
    expect(findViolation(client.receive(client.request(1, "query", {})).events)).toMatch(/HMAC/);
  });

  test("ends when a frame of another session is inserted", () => {
    const otherSession = established();
    const [client, server] = [end("client", { nonce: 3 }), end("server", { nonce: 4 })];
    shake(client, server);
    expect(findViolation(server.receive(otherSession.client.ping()).events)).toMatch(/HMAC/);
  });

  test("accepts nothing after its end", () => {
    const { client, server } = established();
    const [first, second] = [client.ping(), client.ping()];
    expect(kinds(server.receive(second).events)).toEqual(["violation"]);
    expect(server.receive(first)).toEqual({ send: [], events: [] });
  });

  test("transmits up to 256 KiB a frame; a longer response is 413, a longer request is rejected", () => {
    const { client, server } = established();
    // The type, the sequence number and the HMAC of a frame have 41 bytes.
    const maxTextLength = MAX_PROVEN_BYTES - 41 - toBytes({ id: 1, status: 200, body: "" }).length;
    const largest = client.respond(1, 200, "x".repeat(maxTextLength));
    expect(largest.length).toBe(LENGTH_BYTES + MAX_PROVEN_BYTES);
    expect(server.receive(largest).events).toMatchObject([{ status: 200 }]);
    expect(server.receive(client.respond(2, 200, "x".repeat(maxTextLength + 1))).events).toMatchObject([
      { id: 2, status: 413, body: { code: "answer_too_large" } },
    ]);
    expect(() => client.request(1, "query", "x".repeat(MAX_PROVEN_BYTES))).toThrow(/over the \d+ that a frame carries/);
    expect(sendRequest(client, server)).toEqual([requestEvent]);
  });

  test("ends at a frame longer than 256 KiB, and reports its length", () => {
    const { server } = established();
    // These four bytes announce a length of 0x40001, one more than 256 KiB.
    expect(findViolation(server.receive(Uint8Array.of(0, 4, 0, 1)).events)).toMatch(/262145 bytes was announced/);
  });

  test.each([0, 7])("ends at an authentic frame with only %i bytes of its sequence number", (length) => {
    const { server, frames } = established();
    const [hello, challenge] = frames.map(({ bytes }) => bytes);
    const { client: key } = deriveSessionKeys(KEY.key, makeTranscript(hello!, challenge!));
    // The body is a part of the sequence number, which has eight bytes, and the HMAC of 32 bytes.
    const frame = makeFrame(FRAME.ping, new Uint8Array(length + 32));
    frame.set(portableMac(key)(frame.subarray(0, -32)), frame.length - 32);
    expect(findViolation(server.receive(frame).events)).toMatch(/too short/);
  });

  test("ends at JSON that is nested too deep", () => {
    const deep = JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`);
    const { client, server } = established();
    expect(findViolation(server.receive(client.request(1, "query", deep)).events)).toMatch(/nested deeper/);
  });
});
