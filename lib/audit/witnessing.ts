/** Has witnesses cosign the log's checkpoints, and keeps what they said. */
import { hasElapsed } from "../kit/age.ts";
import { runUntilStopped } from "../kit/time_limit.ts";
import { type Checkpoint, type CheckpointDeps, lastCheckpoint, parseCheckpoint } from "./checkpoint.ts";
import { cosignedAt } from "./cosignature.ts";
import { COSIGNATURE, formatNote, formatVerifierKey, parseNote } from "./note.ts";
import { proveConsistency, withCompleteTree } from "./prove.ts";
import { addCheckpoint, type Witness } from "./witness.ts";

declare module "../store/store.ts" {
  interface Collections {
    witnesses: Witnessed;
  }
}

/** `witnesses/<verifier key>`: what a witness cosigned last, and how it was when it was asked last. */
export interface Witnessed {
  /** The checkpoint as the log signed it, `""` before the first. */
  note: string;
  /** The verifier key it is signed for, and when it was made. */
  key: string;
  made: string;
  length: number;
  /** The signature lines that the witness answered, those of unknown keys too. */
  lines: string;
  /** When it cosigned, by its own clock; `""` before the first. */
  at: string;
  asked_at: string;
  /** Number of failures since. */
  failures: number;
  problem: string | null;
  /** It says that the log does not continue what it saw: not a failure, but what a witness is for. */
  refused: boolean;
}

/** Dependencies of requests to witnesses. */
export type WitnessDeps = CheckpointDeps & { witnesses?: readonly Witness[] | undefined };

const NEVER: Witnessed = {
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

const PACE_MS = 1000;
/** An idle log is cosigned again after this time, so that a cosignature's age says something of the witness. */
const RECOSIGN_MS = 3_600_000;
const LONGEST_WAIT_MS = 300_000;
const MOST_ROUNDS = 4;

/** A rejection by a witness that is the log's fault, in a sentence for people. */
class Refused extends Error {
  override readonly name = "Refused";
}

const idOf = ({ key }: Witness, { sha256 }: Pick<CheckpointDeps, "sha256">): string =>
  formatVerifierKey(key, sha256, COSIGNATURE);

/** Returns the last known state of each witness, in the order of the configuration. */
export async function witnessed(
  deps: Pick<WitnessDeps, "store" | "sha256" | "witnesses">,
): Promise<{ witness: Witness; seen: Witnessed }[]> {
  const { witnesses = [] } = deps;
  if (witnesses.length === 0) return [];
  const kept = await deps.store.getMany(
    "witnesses",
    witnesses.map((witness) => idOf(witness, deps)),
  );
  return witnesses.map((witness, i) => ({ witness, seen: kept[i]?.value ?? NEVER }));
}

/** Asks a witness to cosign the newest checkpoint, when that is due; resolves to whether it is behind. It never rejects. */
export function askWitness(deps: WitnessDeps, witness: Witness, stopping?: AbortSignal): Promise<boolean> {
  return deps
    .mutex(`witness ${idOf(witness, deps)}`, () => askWhenDue(deps, witness, stopping))
    .catch((error: unknown) => {
      deps.log.warn("a witness was not looked after", { witness: witness.key.name, error: String(error) });
      return true;
    });
}

async function askWhenDue(deps: WitnessDeps, witness: Witness, stopping?: AbortSignal): Promise<boolean> {
  const { store, clock, integrity, log } = deps;
  const checkpoint = await lastCheckpoint({ store });
  if (!checkpoint?.key || checkpoint.length === 0 || integrity.breach) return false;
  const id = idOf(witness, deps);
  const before = (await store.get("witnesses", id))?.value ?? NEVER;
  const now = clock.now();
  const isBehind = before.note !== checkpoint.note || before.failures > 0;
  if (!hasElapsed(before.asked_at, isBehind ? waitOf(before) : RECOSIGN_MS, now)) return isBehind;
  const asked_at = new Date(now).toISOString();
  let after: Witnessed;
  try {
    const said = await cosigned(deps, witness, before.length, checkpoint, stopping);
    after = { ...said, asked_at, failures: 0, problem: null, refused: false };
    if (before.problem !== null)
      log.info("the witness cosigns again", { witness: witness.key.name, length: after.length });
  } catch (error) {
    // Given up, not failed: the next start asks at once.
    if (stopping?.aborted) return false;
    const refused = error instanceof Refused;
    const problem = error instanceof Error ? error.message : String(error);
    after = { ...before, asked_at, failures: before.failures + 1, problem, refused };
    const report = { witness: witness.key.name, length: checkpoint.length, problem };
    if (refused) log.error("a witness refuses the log", report);
    else if (before.problem !== problem) log.warn("a witness does not cosign; it is asked again", report);
  }
  await store.transact((tx) => tx.put("witnesses", id, after));
  return after.failures > 0;
}

/** Once a second while all is well; twice as long after each failure, up to five minutes. */
const waitOf = ({ failures }: Witnessed): number => Math.min(PACE_MS * 2 ** failures, LONGEST_WAIT_MS);

/** The newest checkpoint with what the witness put to it. `old`: what it is thought to have cosigned last. */
async function cosigned(
  deps: WitnessDeps,
  witness: Witness,
  old: number,
  newest: Checkpoint,
  stopping: AbortSignal | undefined,
): Promise<Pick<Witnessed, "note" | "key" | "made" | "length" | "lines" | "at">> {
  let [size, checkpoint] = [old, newest];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    // Another process may have shown it more meanwhile.
    if (size > checkpoint.length) checkpoint = (await lastCheckpoint(deps)) ?? newest;
    const { note, length, key, at: made } = checkpoint;
    if (size > length)
      throw new Refused(
        `it cosigned ${size} entries of this log, which has ${length}: the store was set back to an older copy, or the log was cut`,
      );
    const proof = size === 0 || size === length ? [] : await proofOf(deps, size, length);
    const submission = { old: size, proof, note };
    const answer = await runUntilStopped(stopping, (signal) => addCheckpoint(witness, submission, signal));
    if (answer.kind === "refused") throw refusal(answer.status, size, length);
    if (answer.kind === "cosigned")
      return { note, key: key ?? "", made, length, ...(await cosignaturesIn(deps, witness, note, answer.lines)) };
    size = answer.size;
  }
  throw new Error("it cosigned another size each time it was asked");
}

const proofOf = (deps: WitnessDeps, from: number, length: number): Promise<string[]> =>
  withCompleteTree(deps, async (reads) => (await proveConsistency(reads, from, length)).proof);

function refusal(status: number, old: number, length: number): Error {
  if (status === 422)
    return new Refused(
      `it says that the log of ${length} entries does not continue the one of ${old} that it cosigned`,
    );
  if (status === 404) return new Error("it does not know this log: its operator needs the log's verifier key");
  if (status === 403) return new Error("it does not trust the key of --audit-key: its operator needs the new one");
  return new Error(`it answered ${status}: it does not understand what it is asked`);
}

/** The witness's own cosignature, which must hold, and those of keys that nobody here knows. */
async function cosignaturesIn(
  { sha256, witnesses = [] }: WitnessDeps,
  { key }: Witness,
  note: string,
  lines: string,
): Promise<Pick<Witnessed, "lines" | "at">> {
  const signed = parseNote(note);
  const answered = parseNote(`${note}${lines}`);
  const at = answered && (await cosignedAt(answered, key, sha256));
  if (!signed || !answered || at === undefined) throw new Error("what it answered is not a cosignature of its key");
  // An invalid line in the name of the log or of another witness would spoil the note for its verifiers.
  const names = [...signed.signatures.map(({ name }) => name), ...witnesses.map((other) => other.key.name)];
  const spoken = answered.signatures
    .slice(signed.signatures.length)
    .filter(({ name }) => name === key.name || !names.includes(name));
  return { lines: formatNote({ text: "", signatures: spoken }).slice(1), at: new Date(at).toISOString() };
}

/** Known states of witnesses, read once: between two reads one could have cosigned the next. */
type Known = readonly { seen: Witnessed }[];

/** The newest checkpoint that a witness cosigned; undefined before the first. */
export const newestCosigned = (known: Known): Checkpoint | undefined =>
  opened(known.reduce((a, { seen }) => (seen.length > a.length ? seen : a), NEVER));

/** Returns, among checkpoints of at least `length` entries, the newest of those that most witnesses cosigned. */
export function mostCosigned(known: Known, length: number): Checkpoint | undefined {
  const covering = known.map(({ seen }) => seen).filter((seen) => seen.length >= length);
  const count = ({ note }: Witnessed): number => covering.filter((seen) => seen.note === note).length;
  return opened(covering.reduce((a, b) => ((count(b) - count(a) || b.length - a.length) > 0 ? b : a), NEVER));
}

function opened({ note, key, made }: Witnessed): Checkpoint | undefined {
  const head = parseCheckpoint(note);
  return head && { ...head, note, key, at: made };
}

/** A checkpoint with the cosignatures that are known of it. */
export const withCosignatures = (note: string, known: Known): string =>
  note + [...new Set(known.filter(({ seen }) => seen.note === note).map(({ seen }) => seen.lines))].join("");
