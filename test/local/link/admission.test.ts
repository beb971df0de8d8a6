/** Tests which unauthenticated connections of the link stay open if there are too many. */
import { expect, test } from "vitest";
import { createAdmission, type UnauthenticatedPeer } from "../../../local/link/admission.ts";

const makePeer = (address: string, hasSentSecretId = false) => {
  const peer = { from: address, greeted: hasSentSecretId, closed: false, close: () => void (peer.closed = true) };
  return peer satisfies UnauthenticatedPeer;
};

test("64 unauthenticated connections may wait, 8 per address; the oldest idle one is closed", () => {
  const admission = createAdmission();
  const peers = Array.from({ length: 500 }, (_, i) => makePeer(`10.0.${i % 20}.1`));
  for (const peer of peers) admission.admit(peer);
  expect(admission.size).toBe(64);
  expect(peers.filter(({ closed }) => !closed)).toEqual(peers.slice(-64));

  const sameAddress = Array.from({ length: 20 }, () => makePeer("10.9.9.9"));
  for (const peer of sameAddress) admission.admit(peer);
  expect(sameAddress.filter(({ closed }) => !closed)).toEqual(sameAddress.slice(-8));
  expect(admission.size).toBe(64);
});

test("a connection that has sent a secret's id is closed last, the oldest such connection first", () => {
  const admission = createAdmission({ total: 3, perAddress: 2 });
  const [first, idle, second, third] = [true, false, true, true].map((hasSentSecretId) =>
    makePeer("a", hasSentSecretId),
  );
  for (const peer of [first!, idle!, second!]) admission.admit(peer);
  expect([first!.closed, idle!.closed]).toEqual([false, true]);
  admission.admit(third!);
  expect([first!.closed, second!.closed, third!.closed]).toEqual([true, false, false]);
  admission.admit(makePeer("b"));
  expect(admission.size).toBe(3);
  expect(second!.closed).toBe(false);
});

test("a closed connection makes room for another", () => {
  const admission = createAdmission({ total: 1, perAddress: 1 });
  const first = makePeer("a", true);
  admission.admit(first);
  admission.release(first);
  admission.admit(makePeer("a"));
  expect(first.closed).toBe(false);
  expect(admission.size).toBe(1);
});
