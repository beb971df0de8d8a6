/** Requests cosignatures of the log's checkpoints from witnesses, and stores their answers. */
import { hasElapsed } from "../kit/age.ts";
import { runUntilStopped } from "../kit/time_limit.ts";
import { type Checkpoint, type CheckpointDeps, readLastCheckpoint, parseCheckpoint } from "./checkpoint.ts";
import { findCosignatureTime } from "./cosignature.ts";
import { COSIGNATURE, formatNote, formatVerifierKey, parseNote } from "./note.ts";
import { proveConsistency, runWithCompleteTree } from "./prove.ts";
import { submitCheckpoint, type Witness } from "./witness.ts";

declare module "../store/store.ts" {
  interface Collections {
    witnesses: WitnessState;
  }
}

/** `witnesses/<verifier key>`: the last cosignature of a witness, and the result of the last request to it. */
export interface WitnessState {
  /** The checkpoint with the log's signature, `""` before the first. */
  note: string;
  /** The verifier key of that checkpoint, `""` if it is unsigned, and the time when it was made. */
  key: string;
  made: string;
  length: number;
  /** The signature lines in the witness's answer, including those of unknown keys. */
  lines: string;
  /** Time of the cosignature by the witness's clock; `""` before the first. */
  at: string;
  asked_at: string;
  /** Number of failed requests since the last cosignature. */
  failures: number;
  problem: string | null;
  /** True if the witness rejects the log because it does not continue an earlier checkpoint. */
  refused: boolean;
}

/** Dependencies of requests to witnesses. */
export type WitnessDeps = CheckpointDeps & { witnesses?: readonly Witness[] | undefined };

/** State of a witness that was never asked: it has no checkpoint, so `parseState` returns undefined for it. */
const INITIAL_STATE: WitnessState = {
  note: "",
  key: "",
  made: "",
  length: 0,
  lines: "",
  at: "",
  asked_at: "",
  failures: 0,
  problem: null,
  refused: false,
};

const MIN_WAIT_MS = 1000;
/** An idle log is cosigned again after this time, so that the age of a cosignature shows whether the witness works. */
const RECOSIGN_MS = 3_600_000;
const MAX_WAIT_MS = 300_000;
/** Maximum number of submissions in one request, since each answer may name another size. */
const MAX_ROUNDS = 4;

/** A witness rejects the checkpoint because of the log itself; the message is a sentence for people. */
class RejectedByWitness extends Error {
  override readonly name = "Refused";
}

const witnessId = ({ key }: Witness, { sha256 }: Pick<CheckpointDeps, "sha256">): string =>
  formatVerifierKey(key, sha256, COSIGNATURE);

/** Returns the last known state of each witness, in the order of the configuration. */
export async function readWitnessStates(
  deps: Pick<WitnessDeps, "store" | "sha256" | "witnesses">,
): Promise<{ witness: Witness; state: WitnessState }[]> {
  const { witnesses = [] } = deps;
  if (witnesses.length === 0) return [];
  const stored = await deps.store.getMany(
    "witnesses",
    witnesses.map((witness) => witnessId(witness, deps)),
  );
  return witnesses.map((witness, index) => ({ witness, state: stored[index]?.value ?? INITIAL_STATE }));
}

/** Requests a cosignature of the newest checkpoint if one is due; resolves with true if the witness is behind. Never rejects. */
export function requestCosignature(deps: WitnessDeps, witness: Witness, stopping?: AbortSignal): Promise<boolean> {
  return deps
    .mutex(`witness ${witnessId(witness, deps)}`, () => requestCosignatureIfDue(deps, witness, stopping))
    .catch((error: unknown) => {
      deps.log.warn("a cosignature could not be requested", { witness: witness.key.name, error: String(error) });
      return true;
    });
}

async function requestCosignatureIfDue(deps: WitnessDeps, witness: Witness, stopping?: AbortSignal): Promise<boolean> {
  const { store, clock, integrity, log } = deps;
  const checkpoint = await readLastCheckpoint({ store });
  // There is nothing to cosign in an unsigned checkpoint or an empty log, and nothing to confirm in a broken one.
  if (!checkpoint?.key || checkpoint.length === 0 || integrity.breach) return false;
  const id = witnessId(witness, deps);
  const previous = (await store.get("witnesses", id))?.value ?? INITIAL_STATE;
  const now = clock.now();
  const isBehind = previous.note !== checkpoint.note || previous.failures > 0;
  if (!hasElapsed(previous.asked_at, isBehind ? retryDelayMs(previous) : RECOSIGN_MS, now)) return isBehind;
  const asked_at = new Date(now).toISOString();
  let next: WitnessState;
  try {
    const cosignature = await submitUntilCosigned(deps, witness, previous.length, checkpoint, stopping);
    next = { ...cosignature, asked_at, failures: 0, problem: null, refused: false };
    if (previous.problem !== null)
      log.info("the witness cosigns again", { witness: witness.key.name, length: next.length });
  } catch (error) {
    // An aborted request is no failure: the next start asks again immediately.
    if (stopping?.aborted) return false;
    const isRejected = error instanceof RejectedByWitness;
    const problem = error instanceof Error ? error.message : String(error);
    next = { ...previous, asked_at, failures: previous.failures + 1, problem, refused: isRejected };
    const report = { witness: witness.key.name, length: checkpoint.length, problem };
    if (isRejected) log.error("a witness refuses the log", report);
    else if (previous.problem !== problem) log.warn("a witness does not cosign; it is asked again", report);
  }
  await store.transact((tx) => tx.put("witnesses", id, next));
  return next.failures > 0;
}

/** Returns the pause before the next request: a second, doubled by each failure since the last cosignature, at most five minutes. */
const retryDelayMs = ({ failures }: WitnessState): number => Math.min(MIN_WAIT_MS * 2 ** failures, MAX_WAIT_MS);

/** Submits the newest checkpoint until the witness cosigns it. `old`: the size that the witness presumably cosigned last. */
async function submitUntilCosigned(
  deps: WitnessDeps,
  witness: Witness,
  old: number,
  newest: Checkpoint,
  stopping: AbortSignal | undefined,
): Promise<Pick<WitnessState, "note" | "key" | "made" | "length" | "lines" | "at">> {
  let size = old;
  let checkpoint = newest;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // Another process may have submitted a longer checkpoint meanwhile.
    if (size > checkpoint.length) checkpoint = (await readLastCheckpoint(deps)) ?? newest;
    const { note, length, key, at: made } = checkpoint;
    if (size > length)
      throw new RejectedByWitness(
        `it cosigned ${size} entries of this log, which has ${length}: the store was set back to an older copy, or the log was cut`,
      );
    const proof = size === 0 || size === length ? [] : await proveExtension(deps, size, length);
    const submission = { old: size, proof, note };
    const answer = await runUntilStopped(stopping, (signal) => submitCheckpoint(witness, submission, signal));
    if (answer.kind === "refused") throw rejectionError(answer.status, size, length);
    if (answer.kind === "cosigned")
      return { note, key: key ?? "", made, length, ...(await verifyCosignatures(deps, witness, note, answer.lines)) };
    size = answer.size;
  }
  throw new Error("it cosigned another size each time it was asked");
}

const proveExtension = (deps: WitnessDeps, from: number, length: number): Promise<string[]> =>
  runWithCompleteTree(deps, async (reads) => (await proveConsistency(reads, from, length)).proof);

function rejectionError(status: number, old: number, length: number): Error {
  if (status === 422)
    return new RejectedByWitness(
      `it says that the log of ${length} entries does not continue the one of ${old} that it cosigned`,
    );
  if (status === 404) return new Error("it does not know this log: its operator needs the log's verifier key");
  if (status === 403) return new Error("it does not trust the key of --audit-key: its operator needs the new one");
  return new Error(`it answered ${status}: it does not understand what it is asked`);
}

/** Verifies the witness's own cosignature; returns it with the signatures of unknown keys. Errors: an Error if it is invalid. */
async function verifyCosignatures(
  { sha256, witnesses = [] }: WitnessDeps,
  { key }: Witness,
  note: string,
  lines: string,
): Promise<Pick<WitnessState, "lines" | "at">> {
  const submitted = parseNote(note);
  const cosigned = parseNote(`${note}${lines}`);
  const at = cosigned && (await findCosignatureTime(cosigned, key, sha256));
  if (!submitted || !cosigned || at === undefined) throw new Error("what it answered is not a cosignature of its key");
  // An invalid line with the name of the log or of another witness would make verifiers reject the note.
  const knownNames = [...submitted.signatures.map(({ name }) => name), ...witnesses.map((other) => other.key.name)];
  const signatures = cosigned.signatures
    .slice(submitted.signatures.length)
    .filter(({ name }) => name === key.name || !knownNames.includes(name));
  // `slice` removes the empty line before the signatures.
  return { lines: formatNote({ text: "", signatures }).slice(1), at: new Date(at).toISOString() };
}

/** States of witnesses. They are read once for an answer, since a second read could return a later cosignature. */
type WitnessStates = readonly { state: WitnessState }[];

/** Finds the newest checkpoint that a witness cosigned; undefined before the first. */
export const findNewestCosigned = (states: WitnessStates): Checkpoint | undefined =>
  parseState(states.reduce((newest, { state }) => (state.length > newest.length ? state : newest), INITIAL_STATE));

/** Finds the checkpoint of at least `length` entries that most witnesses cosigned; among equals the newest. */
export function findMostCosigned(states: WitnessStates, length: number): Checkpoint | undefined {
  const covering = states.map(({ state }) => state).filter((state) => state.length >= length);
  const countWitnesses = ({ note }: WitnessState): number => covering.filter((state) => state.note === note).length;
  const isBetter = (state: WitnessState, best: WitnessState): boolean => {
    const moreWitnesses = countWitnesses(state) - countWitnesses(best);
    return moreWitnesses === 0 ? state.length > best.length : moreWitnesses > 0;
  };
  return parseState(covering.reduce((best, state) => (isBetter(state, best) ? state : best), INITIAL_STATE));
}

function parseState({ note, key, made }: WitnessState): Checkpoint | undefined {
  const head = parseCheckpoint(note);
  return head && { ...head, note, key: key || null, at: made };
}

/** Appends the known cosignatures to a checkpoint. */
export function appendCosignatures(note: string, states: WitnessStates): string {
  const lines = states.filter(({ state }) => state.note === note).map(({ state }) => state.lines);
  return note + [...new Set(lines)].join("");
}
