/**
 * Sends random and mutated frames to sessions in every state. `LINK_FUZZ_FRAMES=100000` sets the number of frames, and
 * `LINK_FUZZ_SEED=<seed of a run>` repeats a run.
 */
import { expect, test } from "vitest";
import { LENGTH_BYTES, MAX_PROVEN_BYTES, MAX_UNPROVEN_BYTES } from "../../../lib/link/frames.ts";
import type { LinkEvent, Role, Session } from "../../../lib/link/session.ts";
import { LONG } from "../../support/run_length.ts";
import { end, shake } from "./test_sessions.ts";
import { mutator, seededRandom } from "./mutations.ts";

const FRAMES = Number(process.env["LINK_FUZZ_FRAMES"] ?? (LONG ? 5_000 : 1_000));
const SEED = Number(process.env["LINK_FUZZ_SEED"] ?? Date.now() % 1_000_000);

const random = seededRandom(SEED);
const mutate = mutator(random);

/** A session in some state, the frames that are valid next, and the events that these frames cause. */
interface SessionState {
  end: Session;
  frames: Uint8Array[];
  events: LinkEvent[];
  /** Maximum size of a frame before the session is established. */
  limit: number;
}

function startHandshake(role: Role): SessionState {
  const passed = shake(end("client"), end("server"));
  const subject = end(role);
  subject.open();
  const frames = passed.frames.filter(({ from }) => from !== role).map(({ bytes }) => bytes);
  const events = passed[role];
  if (random(2) === 0) return { end: subject, frames, events, limit: MAX_UNPROVEN_BYTES };
  subject.receive(frames[0]!);
  return { end: subject, frames: frames.slice(1), events, limit: MAX_UNPROVEN_BYTES };
}

function establishSession(role: Role): SessionState {
  const ends = { client: end("client"), server: end("server") };
  shake(ends.client, ends.server);
  const other = role === "client" ? ends.server : ends.client;
  const body = { path: "x".repeat(random(random(10) === 0 ? 20_000 : 200)) };
  return {
    end: ends[role],
    frames: [other.request(1, "query", body), other.ping(), other.respond(7, 200, body)],
    events: [
      { kind: "request", id: 1, message: "query", body },
      { kind: "response", id: 7, status: 200, body },
    ],
    limit: MAX_PROVEN_BYTES,
  };
}

const title = `invalid frames cause no other events than the valid ones, in order (${FRAMES} frames, seed ${SEED})`;
test(title, { timeout: 600_000 }, () => {
  const roles: Role[] = ["client", "server"];
  let violations = 0;
  for (let frames = 0; frames < FRAMES;) {
    const role = roles[random(2)]!;
    const subject = random(3) === 0 ? startHandshake(role) : establishSession(role);
    frames += subject.frames.length;
    const stream = mutate(subject.frames);
    const events: LinkEvent[] = [];
    for (let at = 0; at < stream.length;) {
      const size = 1 + random(random(2) === 0 ? 5 : 4000);
      events.push(...subject.end.receive(stream.slice(at, at + size)).events);
      at += size;
      const limit = subject.end.established ? MAX_PROVEN_BYTES : subject.limit;
      expect(subject.end.buffered).toBeLessThanOrEqual(LENGTH_BYTES + limit);
    }
    const isEnded = events.at(-1)?.kind === "violation";
    if (isEnded) violations++;
    const validEvents = isEnded ? events.slice(0, -1) : events;
    expect(validEvents).toEqual(subject.events.slice(0, validEvents.length));
    if (isEnded) expect(subject.end.receive(stream)).toEqual({ send: [], events: [] });
  }
  expect(violations).toBeGreaterThan(FRAMES / 10);
});
