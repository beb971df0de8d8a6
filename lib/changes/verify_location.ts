/**
 * Verifies that a location, the place of a target on its system, holds the value that its change set. The changes here are operands,
 * as `listOperands` makes them: for a plan, one change for each entry.
 */
import { canonicalJson } from "../kit/canonical_json.ts";
import type { ChangesDeps } from "./deps.ts";
import type { DriftEpisode } from "./drift.ts";
import { rememberEdited, rememberInForce } from "./drift_memory.ts";
import { ignoreMismatch } from "./mismatch.ts";
import type { HostState } from "./operations/adapter_port.ts";
import { readLease } from "./operations/lease.ts";
import { tryReadTargetValue, tryReadStateInForce, nameSystem } from "./operations/host_state.ts";
import { describeMove, findCarrier, findMove } from "./locations.ts";
import { readRecord } from "./records.ts";
import { serviceActor } from "./rules/actor.ts";
import type { Change } from "./rules/change.ts";
import { isPlan } from "./rules/list_entries.ts";
import { toChangeId } from "./rules/operands.ts";
import { runTransaction } from "./transaction.ts";

/** An operand of an applied change that owns its target, and its current episode of drift. */
export interface Owner {
  change: Change;
  episode: DriftEpisode | undefined;
}

/** State of a location; without `state` it holds the value of its change. */
export interface LocationState extends Pick<DriftEpisode, "held_digest"> {
  state?: DriftEpisode["state"] | undefined;
  host: HostState;
}

/** `only_recorded`: no target system carries the change; `unreadable`: the location cannot be read or compared now. */
export type LocationCheck = LocationState | "only_recorded" | "unreadable";

/** Verifies a location and records the beginning or end of an episode of drift. The caller holds the lock of the change. */
export async function verifyLocation(deps: ChangesDeps, owner: Owner): Promise<LocationCheck> {
  const { change, episode } = owner;
  const location = await readLocation(deps, change);
  if (typeof location === "string") return location;
  if (location.state === undefined) rememberInForce(deps, change.change_id);
  else rememberEdited(deps, change.change_id);
  const isRecorded = location.state === episode?.state && location.held_digest === episode?.held_digest;
  if (!isRecorded) await recordState(deps, change, location);
  return location;
}

/** Verifies the location of an operand, with the current revision of its change, which other operands may have raised. */
export async function verifyOperand(deps: ChangesDeps, operand: Change): Promise<LocationCheck> {
  const { change_id } = operand;
  const [episode, record] = await Promise.all([
    deps.store.get("drift", change_id),
    readRecord(deps.store, toChangeId(change_id)),
  ]);
  const { revision } = record?.change ?? operand;
  return verifyLocation(deps, { change: { ...operand, revision }, episode: episode?.value });
}

async function readLocation(deps: ChangesDeps, change: Change): Promise<LocationCheck> {
  const { product, log } = deps;
  const { change_id } = change;
  const adapter = findCarrier(product?.adapter, change);
  if (!adapter) return "only_recorded";
  const system = nameSystem(adapter, change);
  const moved = findMove(adapter, change);
  if (moved) {
    log.warn("a change cannot be compared with its target", { change_id, system, error: describeMove(moved) });
    return "unreadable";
  }
  const host = await tryReadStateInForce(adapter, change);
  if (host === undefined) {
    log.warn("the host could not be asked for drift", { change_id, system });
    return "unreadable";
  }
  if (host === "applied") return { host };
  return { state: host === "absent" ? "missing" : "drifted", host, ...(await readCurrentDigest(deps, change)) };
}

/**
 * Records the state of a location. Nothing is recorded if the change was modified after the host was asked: another process may
 * have begun an operation or recorded the same state.
 */
const recordState = (deps: ChangesDeps, change: Change, { state, host, ...digest }: LocationState): Promise<void> =>
  runTransaction<void>({ deps }, async (transaction) => {
    const { tx, at } = transaction;
    const { change_id: id, target, tenant_id } = change;
    const change_id = toChangeId(id);
    const current = await ignoreMismatch(transaction.change(change_id));
    if (!current) return;
    if (current.change.revision !== change.revision || (await readLease(tx, change))) return;
    // If a later change owns the target now, the episode has ended.
    if ((await transaction.ledger.owner(change)) !== change_id) return;
    if (state === undefined) return tx.delete("drift", id);
    const episode = (await tx.get("drift", id))?.value;
    const { since = at, contested_until } = episode ?? {};
    const contest = contested_until === undefined ? {} : { contested_until };
    tx.put("drift", id, { change_id, target, tenant_id, state, host, ...digest, since, ...contest });
    const sets = isPlan(current.change) ? { sets: [{ tenant_id, target }] } : {};
    if (!episode)
      transaction.execute(current, { type: "drift", circumstance: { state, host, ...sets } }, serviceActor());
  }) as Promise<void>;

/** Reads the digest of the current value; the value itself is only for people who may read the host. */
async function readCurrentDigest(
  { product, sha256 }: ChangesDeps,
  change: Change,
): Promise<Pick<DriftEpisode, "held_digest">> {
  const current = await tryReadTargetValue(product!.adapter!, change);
  if (current === undefined) return {};
  try {
    // `null`: the target holds nothing.
    return { held_digest: current && sha256(canonicalJson(current.value)) };
  } catch {
    // The adapter reports a value that is no JSON.
    return {};
  }
}
