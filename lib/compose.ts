/** Portable defaults, so that a host application hands over only what is its own. */
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock, Deps, Log, Sha256 } from "./deps.ts";
import { createTurns } from "./governance/turns.ts";
import { risingIds } from "./ids.ts";

/** SHA-256 without a platform; where `node:crypto` is, its one-shot hash is some ten times faster. */
export const portableSha256: Sha256 = (data) =>
  bytesToHex(nobleSha256(typeof data === "string" ? utf8ToBytes(data) : data));

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

const silent: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** Everything a handler needs; only the store has no default. */
export function createDeps(given: Partial<Deps> & Pick<Deps, "store">): Deps {
  return {
    clock: systemClock,
    ids: risingIds(),
    sha256: portableSha256,
    log: silent,
    integrity: {},
    turns: createTurns(),
    owner: crypto.randomUUID(),
    ...given,
  };
}
