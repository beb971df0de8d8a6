/** C2SP `tlog-policy`: which logs are trusted, and whose cosignatures a checkpoint must have. */
import { readText, Unreadable } from "./kept.ts";
import { type Checkpoint, type Key, parseVerifierKey, SIGNATURE, findSigner } from "./note.ts";
import { COSIGNATURE, cosignedAt, type Witness } from "./witness.ts";

/** A witness, or a group and the least number of its members that must have cosigned. */
type Judge = { key: Witness } | { least: number; members: readonly Judge[] };

/** Logs and witnesses that are trusted, and the witnesses that a checkpoint needs. */
export interface TlogPolicy {
  logs: readonly Key[];
  /** By their names in the policy. */
  witnesses: ReadonlyMap<string, Witness>;
  /** Undefined: no witness is required. */
  quorum: Judge | undefined;
}

/** Reads a policy. Errors: `SyntaxError`, which names the line. */
export function parseTlogPolicy(text: string): TlogPolicy {
  const logs: Key[] = [];
  const witnesses = new Map<string, Witness>();
  const judges = new Map<string, Judge>();
  let quorum: { judge: Judge | undefined } | undefined;
  text.split("\n").forEach((line, index) => {
    const refuse = (why: string): never => {
      throw new SyntaxError(`line ${index + 1}: ${why}`);
    };
    const named = (name = ""): Judge => judges.get(name) ?? refuse(`${name} is defined on no line before`);
    const define = (name: string | undefined, judge: Judge): void => {
      if (name === undefined || name === "none" || judges.has(name)) refuse("a new name is needed");
      judges.set(name!, judge);
    };
    const keyOf = (vkey = "", type: number): Witness =>
      parseVerifierKey(vkey, type) ?? refuse("a verifier key is needed");
    const isKnown = ({ raw }: Key, others: Iterable<Key>): boolean => [...others].some((one) => one.raw.equals(raw));

    if (/[\x00-\x08\x0b-\x1f\x7f]/.test(line)) refuse("a control character other than a tab is in it");
    const [word, ...rest] = line.replace(/^[ \t]+|[ \t]+$/g, "").split(/[ \t]+/);
    if (word === "" || word!.startsWith("#")) return;
    if (word === "log") {
      const key = keyOf(rest[0], SIGNATURE);
      if (isKnown(key, logs)) refuse("this log is listed already");
      logs.push(key);
    } else if (word === "witness") {
      const key = keyOf(rest[1], COSIGNATURE);
      if (isKnown(key, witnesses.values())) refuse("this witness is listed already");
      define(rest[0], { key });
      witnesses.set(rest[0]!, key);
    } else if (word === "group") {
      const [name, asked = "", ...names] = rest;
      const least = asked === "all" ? names.length : asked === "any" ? 1 : /^[1-9]\d*$/.test(asked) ? Number(asked) : 0;
      if (least < 1 || least > names.length || new Set(names).size < names.length)
        refuse("a group has a name, then all, any or a number, then members, each once");
      define(name, { least, members: names.map(named) });
    } else if (word === "quorum" && !quorum) quorum = { judge: rest[0] === "none" ? undefined : named(rest[0]) };
    else refuse("log, witness, group, or one quorum is needed");
  });
  if (!quorum) throw new SyntaxError("exactly one quorum is needed; quorum none asks for no witness");
  return { logs, witnesses, quorum: quorum.judge };
}

/** Reads a C2SP `tlog-policy` from a file. */
export function readTlogPolicy(file: string): TlogPolicy {
  try {
    return parseTlogPolicy(readText(file));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Unreadable(`${file} is no tlog-policy: ${error.message}`);
    throw error;
  }
}

/**
 * Returns the log of the policy that signed a checkpoint, and the witnesses that cosigned it with their times (seconds since
 * the epoch; `null`: the cosignature under that name is invalid). `isMet`: they meet the quorum.
 */
export function judgeCheckpoint(checkpoint: Checkpoint, { logs, witnesses, quorum }: TlogPolicy) {
  const own = logs.filter(({ name }) => name === checkpoint.origin);
  const log = own.map((key) => findSigner(checkpoint, key)).find((name) => name !== undefined);
  const seen = [...witnesses].flatMap(([name, key]) => {
    const at = cosignedAt(checkpoint, key);
    return at === undefined ? [] : [{ name, key, at }];
  });
  const judge = (one: Judge): boolean =>
    "key" in one
      ? seen.some(({ key, at }) => key === one.key && at !== null)
      : one.members.filter(judge).length >= one.least;
  return {
    log,
    witnesses: seen.map(({ name, at }) => ({ name, at })),
    isMet: quorum === undefined || judge(quorum),
  };
}
