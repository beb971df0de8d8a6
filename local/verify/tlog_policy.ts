/** Parses C2SP `tlog-policy`, the trusted logs and witnesses, and verifies checkpoints with it. */
import { readText, Unreadable } from "./evidence.ts";
import { type Checkpoint, type Key, parseVerifierKey, SIGNATURE, findSigner } from "./note.ts";
import { COSIGNATURE, readCosignatureTime, type Witness } from "./witness.ts";

/** A witness that must have cosigned, or a group of which at least `min` members must have. */
type QuorumRule = { key: Witness } | { min: number; members: readonly QuorumRule[] };

/** Logs and witnesses that are trusted, and the witnesses that a checkpoint needs. */
export interface TlogPolicy {
  logs: readonly Key[];
  /** By their names in the policy. */
  witnesses: ReadonlyMap<string, Witness>;
  /** Undefined: no witness is required. */
  quorum: QuorumRule | undefined;
}

/** Parses a policy. Errors: `SyntaxError`, which names the line. */
export function parseTlogPolicy(text: string): TlogPolicy {
  const logs: Key[] = [];
  const witnesses = new Map<string, Witness>();
  const rules = new Map<string, QuorumRule>();
  let quorum: { rule: QuorumRule | undefined } | undefined;
  text.split("\n").forEach((line, index) => {
    const fail = (problem: string): never => {
      throw new SyntaxError(`line ${index + 1}: ${problem}`);
    };
    const findRule = (name = ""): QuorumRule => rules.get(name) ?? fail(`${name} is not defined on an earlier line`);
    const define = (name: string | undefined, rule: QuorumRule): void => {
      if (name === undefined || name === "none" || rules.has(name)) fail("a new name is needed");
      rules.set(name!, rule);
    };
    const parseKey = (vkey = "", type: number): Witness =>
      parseVerifierKey(vkey, type) ?? fail("a verifier key is needed");
    const isListed = ({ raw }: Key, others: Iterable<Key>): boolean => [...others].some((one) => one.raw.equals(raw));

    if (/[\x00-\x08\x0b-\x1f\x7f]/.test(line)) fail("it contains a control character other than a tab");
    const [word, ...rest] = line.replace(/^[ \t]+|[ \t]+$/g, "").split(/[ \t]+/);
    if (word === "" || word!.startsWith("#")) return;
    if (word === "log") {
      const key = parseKey(rest[0], SIGNATURE);
      if (isListed(key, logs)) fail("this log is listed already");
      logs.push(key);
    } else if (word === "witness") {
      const key = parseKey(rest[1], COSIGNATURE);
      if (isListed(key, witnesses.values())) fail("this witness is listed already");
      define(rest[0], { key });
      witnesses.set(rest[0]!, key);
    } else if (word === "group") {
      const [name, statedSize = "", ...names] = rest;
      const size = statedSize === "any" ? "1" : statedSize;
      // 0 for any other word, which is rejected below.
      const number = /^[1-9]\d*$/.test(size) ? Number(size) : 0;
      const min = size === "all" ? names.length : number;
      if (min < 1 || min > names.length || new Set(names).size < names.length)
        fail("a group has a name, then all, any or a number, then members, each once");
      define(name, { min, members: names.map(findRule) });
    } else if (word === "quorum" && !quorum) quorum = { rule: rest[0] === "none" ? undefined : findRule(rest[0]) };
    else fail("log, witness, group, or one quorum is needed");
  });
  if (!quorum) throw new SyntaxError("exactly one quorum is needed; quorum none asks for no witness");
  return { logs, witnesses, quorum: quorum.rule };
}

/** Reads a C2SP `tlog-policy` from a file. */
export function readTlogPolicy(file: string): TlogPolicy {
  try {
    return parseTlogPolicy(readText(file));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Unreadable(`${file} is not a tlog-policy: ${error.message}`);
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
  const cosignatures = [...witnesses].flatMap(([name, key]) => {
    const at = readCosignatureTime(checkpoint, key);
    return at === undefined ? [] : [{ name, key, at }];
  });
  const isRuleMet = (rule: QuorumRule): boolean =>
    "key" in rule
      ? cosignatures.some(({ key, at }) => key === rule.key && at !== null)
      : rule.members.filter(isRuleMet).length >= rule.min;
  return {
    log,
    witnesses: cosignatures.map(({ name, at }) => ({ name, at })),
    isMet: quorum === undefined || isRuleMet(quorum),
  };
}
