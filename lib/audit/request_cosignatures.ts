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
  /** The checkpoint as the log signed it, `""` before the first. */
  note: string;
  /** The verifier key of that checkpoint, and when it was made. */
  key: string;
  made: string;
  length: number;
  /** The signature lines in the witness's answer, those of unknown keys included. */
  lines: string;
  /** Time of the cosignature by the witness's clock; `""` before the first. */
  at: string;
  asked_at: string;
  /** Number of failed requests since then. */
  failures: number;
  problem: string | null;
  /** True where the witness rejects the log because it does not continue an earlier checkpoint. */
  refused: boolean;
}

/** Dependencies of requests to witnesses. */
export type WitnessDeps = CheckpointDeps & { witnesses?: readonly Witness[] | undefined };

const NEVER: WitnessState = {
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
const MAX_ROUNDS = 4;

/** A rejection by a witness that is the log's fault; the message is a sentence for people. */
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
  return witnesses.map((witness, i) => ({ witness, state: stored[i]?.value ?? NEVER }));
}

/** Requests a cosignature of the newest checkpoint if one is due; resolves with true if the witness is behind. Never rejects. */
export function requestCosignature(deps: WitnessDeps, witness: Witness, stopping?: AbortSignal): Promise<boolean> {
  return deps
    .mutex(`witness ${witnessId(witness, deps)}`, () => requestCosignatureIfDue(deps, witness, stopping))
    .catch((error: unknown) => {
      deps.log.warn("a witness was not looked after", { witness: witness.key.name, error: String(error) });
      return true;
    });
}

async function requestCosignatureIfDue(deps: WitnessDeps, witness: Witness, stopping?: AbortSignal): Promise<boolean> {
  const { store, clock, integrity, log } = deps;
  const checkpoint = await readLastCheckpoint({ store });
  if (!checkpoint?.key || checkpoint.length === 0 || integrity.breach) return false;
  const id = witnessId(witness, deps);
  const previous = (await store.get("witnesses", id))?.value ?? NEVER;
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
    // A stop is no failure: the next start asks again immediately.
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

/** Returns the pause before the next request: a second, doubled by each failure, at most five minutes. */
const retryDelayMs = ({ failures }: WitnessState): number => Math.min(MIN_WAIT_MS * 2 ** failures, MAX_WAIT_MS);

/** Submits the newest checkpoint until the witness cosigns it. `old`: the size that it is believed to have cosigned last. */
async function submitUntilCosigned(
  deps: WitnessDeps,
  witness: Witness,
  old: number,
  newest: Checkpoint,
  stopping: AbortSignal | undefined,
): Promise<Pick<WitnessState, "note" | "key" | "made" | "length" | "lines" | "at">> {
  let [size, checkpoint] = [old, newest];
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

/** Verifies the witness's own cosignature; returns it with the signatures of unknown keys. Errors: an Error where it is invalid. */
async function verifyCosignatures(
  { sha256, witnesses = [] }: WitnessDeps,
  { key }: Witness,
  note: string,
  lines: string,
): Promise<Pick<WitnessState, "lines" | "at">> {
  const signed = parseNote(note);
  const answered = parseNote(`${note}${lines}`);
  const at = answered && (await findCosignatureTime(answered, key, sha256));
  if (!signed || !answered || at === undefined) throw new Error("what it answered is not a cosignature of its key");
  // An invalid line under the name of the log or of another witness would make verifiers reject the note.
  const names = [...signed.signatures.map(({ name }) => name), ...witnesses.map((other) => other.key.name)];
  const spoken = answered.signatures
    .slice(signed.signatures.length)
    .filter(({ name }) => name === key.name || !names.includes(name));
  return { lines: formatNote({ text: "", signatures: spoken }).slice(1), at: new Date(at).toISOString() };
}

/** States of witnesses, read once: a second read could return a later cosignature. */
type WitnessStates = readonly { state: WitnessState }[];

/** Finds the newest checkpoint that a witness cosigned; undefined before the first. */
export const findNewestCosigned = (known: WitnessStates): Checkpoint | undefined =>
  parseState(known.reduce((a, { state }) => (state.length > a.length ? state : a), NEVER));

/** Finds the checkpoint of at least `length` entries that most witnesses cosigned; among equals the newest. */
export function findMostCosigned(known: WitnessStates, length: number): Checkpoint | undefined {
  const covering = known.map(({ state }) => state).filter((state) => state.length >= length);
  const count = ({ note }: WitnessState): number => covering.filter((state) => state.note === note).length;
  return parseState(covering.reduce((a, b) => ((count(b) - count(a) || b.length - a.length) > 0 ? b : a), NEVER));
}

function parseState({ note, key, made }: WitnessState): Checkpoint | undefined {
  const head = parseCheckpoint(note);
  return head && { ...head, note, key, at: made };
}

/** Appends the known cosignatures to a checkpoint. */
export const appendCosignatures = (note: string, known: WitnessStates): string =>
  note + [...new Set(known.filter(({ state }) => state.note === note).map(({ state }) => state.lines))].join("");
