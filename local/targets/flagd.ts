/** Creates a target system of a flagd file: a target is a flag, and a write replaces only that flag's text. */
import * as nodeFiles from "node:fs/promises";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { type Clock, systemClock } from "../../lib/kit/platform.ts";
import { BUCKETS } from "../../lib/rollout/bucket.ts";
import { readSplit } from "../../lib/rollout/split_value.ts";
import { JsonRejected, parseStrictJson } from "../../lib/kit/strict_json.ts";
import {
  type Entry,
  type SetManyResult,
  TargetRejected,
  type TargetSystem,
  type TargetValue,
  type Write,
} from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { addSplitSupport } from "../../lib/targets/split_support.ts";
import { sha256 } from "../node_ports.ts";
import type { Files } from "./atomic_file.ts";
import { FileUnusable } from "./file_error.ts";
import { findDefinitionProblem, findFlagProblem, type Flag, isDefinition } from "./flag_definition.ts";
import { findGoalProblem, findWrapProblem, isTargeted, wrapFlag } from "./flagd_split.ts";
import { isObject, type JsonObject, getOwn } from "./json_object.ts";
import { readMember, removeMember, setMember } from "./json_text.ts";
import { findUnitProblem, toFlagdDefinition } from "./split.ts";
import { type Edit, openTextFile } from "./text_file.ts";

/** The file, and how an entry becomes the key of a flag. */
export interface FlagdTargetOptions {
  path: string;
  /** The configured path, which names the target; `path` when absent. */
  shownPath?: string;
  clock?: Clock;
  /** The name of the system; `flagd` when absent. */
  name?: string;
  /** Returns the flag's key; the target when absent, for a file that serves one tenant. */
  flagKey?: (entry: Entry) => string;
  /** The file system; Node's own when absent. */
  files?: Files & Pick<typeof nodeFiles, "lstat">;
}

const FLAGS = ["flags"] as const;
const ABSENT: TargetValue = { version: "absent" };

/** The member of a flag's metadata that names the change; it is not part of the flag's value. */
const CHANGE_ID = "change_id";

/** Creates the target system. */
export function flagdTarget(options: FlagdTargetOptions): TargetSystem {
  const {
    path,
    shownPath = path,
    clock = systemClock,
    name = "flagd",
    flagKey = ({ target }) => target,
    files = nodeFiles,
  } = options;
  const file = openTextFile({ path, noun: "flagd file", keepByteOrderMark: true, files, clock });

  // A rename would replace the link, and programs that watch its target would not notice.
  const requireNoLink = async (): Promise<void> => {
    const stats = await files.lstat(path).catch(() => undefined);
    if (stats?.isSymbolicLink()) throw new TargetRejected("the flagd file is a symbolic link; name the file itself");
  };

  const readFlag = (text: string, entry: Entry): TargetValue => {
    const raw = readMember(text, FLAGS, flagKey(entry));
    return raw === undefined ? ABSENT : readText(raw, entry);
  };

  /** Sets the text of a flag; parts that a value does not change come from the present text. */
  const setFlag = (text: string, { entry, next, attempt }: Write): string => {
    const key = flagKey(entry);
    const current = readFlag(text, entry);
    if (!next) return current.raw === undefined ? text : removeMember(text, FLAGS, key);
    const raw = next.raw === undefined ? renderFlag(current, next.value, attempt.change_id) : checkRaw(next);
    return setMember(text, FLAGS, key, raw);
  };

  const setMany = async (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> => {
    await requireNoLink();
    return file.edit((fileText): Edit<SetManyResult> => {
      const text = requireUsable(fileText);
      for (const [index, { entry, expected }] of writes.entries()) {
        const current = readFlag(text, entry);
        if (current.version !== expected.version) return { result: { done: false, index, conflict: current } };
      }
      try {
        const edited = requireUsable(writes.reduce(setFlag, text));
        const versions = writes.map(({ entry }) => readFlag(edited, entry).version);
        return { ...(edited !== text && { text: edited }), result: { done: true, versions } };
      } catch (error) {
        if (error instanceof TargetRejected || error instanceof FileUnusable)
          return { result: { done: false, rejected: error.message } };
        throw error;
      }
    }, signal);
  };

  const system: TargetSystem = {
    name,
    guard: "checked",
    place: (entry) => `flagd ${shownPath} ${JSON.stringify(flagKey(entry))}`,

    check(entry) {
      if (entry.value === undefined || !isDefinition(entry.value)) return undefined;
      return findDefinitionProblem(entry.value);
    },

    async read(entry, signal) {
      await requireNoLink();
      return file.read((text) => readFlag(requireUsable(text), entry), signal);
    },

    checkHeld(entry, current) {
      if (isDefinition(entry.value) || (current.value !== undefined && isSameValue(current.value, entry.value)))
        return undefined;
      try {
        requireVariant(current, entry.value);
        return undefined;
      } catch (error) {
        if (error instanceof TargetRejected) return error.message;
        throw error;
      }
    },

    setMany,
    compareAndSet: makeCompareAndSet(setMany),

    split({ value, ...entry }, by, before) {
      // The version is empty, since the value is not on the system yet. With the full share everybody gets the value.
      if (by.share === BUCKETS && isDefinition(value)) return { value, version: "" };
      const goal = isDefinition(value) ? value : requireVariant(before, value);
      // At the full share `goal` is the name of a variant, since definitions have returned above.
      const text = by.share === BUCKETS ? setDefault(before.raw!, goal as string) : wrapFlag(before.raw!, goal, by);
      // The salt of a share is the id of its change.
      return readText(setChangeId(text, by.salt), { ...entry, value });
    },

    findSplitProblem({ value }, by, before) {
      const goal = isDefinition(value) ? value : undefined;
      if (readSplit(value)) return "a rollout gives its share of the users one value, not a split of their own";
      return findUnitProblem(by) ?? (goal && findGoalProblem(goal)) ?? (before && findWrapProblem(before.raw, goal));
    },

    removeLeftovers: file.removeLeftovers,

    async probe() {
      await requireNoLink();
      await file.read(requireUsable);
      await file.checkFolder();
    },
  };
  return addSplitSupport(system, {
    findProblem: findUnitProblem,
    render: (entry, split) => toFlagdDefinition(flagKey(entry), split),
  });
}

/** Returns the text if flagd accepts the file, which it rejects for one invalid flag. Throws `FileUnusable`. */
function requireUsable(text: string | undefined): string {
  if (text === undefined) throw new FileUnusable("does not exist", 'create it with {"flags": {}}');
  let content: unknown;
  try {
    content = parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonRejected) throw new FileUnusable(`${error.message} (YAML and comments are not supported)`);
    throw error;
  }
  const flags = isObject(content) ? getOwn(content, "flags") : undefined;
  if (!isObject(flags)) throw new FileUnusable("has no object flags");
  for (const [key, flag] of Object.entries(flags)) {
    const problem = findFlagProblem(flag);
    if (problem !== undefined) throw new FileUnusable(`has an invalid flag ${JSON.stringify(key)}: ${problem}`);
  }
  return text;
}

/** Removes the change id from a flag's metadata. */
function removeChangeId(flag: Flag): JsonObject {
  const { metadata, ...rest } = flag;
  if (!isObject(metadata)) return { ...flag };
  const { [CHANGE_ID]: _, ...others } = metadata;
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
}

/** Returns the value that the flag gives everybody; undefined where it depends on the user, or the flag is disabled. */
function readCommonValue(flag: Flag): unknown {
  const { state, variants, defaultVariant } = flag;
  return state === "ENABLED" && !isTargeted(flag) && defaultVariant != null
    ? getOwn(variants, defaultVariant)
    : undefined;
}

/** Returns the value of a flag in the form of an entry's value: its definition, or the value that it gives everybody. */
const readValue = (flag: Flag, entry: Entry): unknown =>
  isDefinition(entry.value) ? removeChangeId(flag) : (readCommonValue(flag) ?? removeChangeId(flag));

/** Reads the text of a flag. */
const readText = (raw: string, entry: Entry): TargetValue => ({
  value: readValue(parseStrictJson(raw) as Flag, entry),
  version: sha256(raw),
  raw,
});

const isSameValue = (value: unknown, other: unknown): boolean => canonicalJson(value) === canonicalJson(other);

/** Finds the variant to make the default. Throws `TargetRejected`. */
function requireVariant({ raw }: TargetValue, value: unknown): string {
  if (raw === undefined) throw new TargetRejected("the flag does not exist; propose its complete definition");
  const flag = parseStrictJson(raw) as Flag;
  const [variantName] = Object.entries(flag.variants).find(([, variant]) => isSameValue(variant, value)) ?? [];
  if (variantName === undefined)
    throw new TargetRejected("no variant of the flag has this value; propose a complete definition");
  if (readCommonValue({ ...flag, defaultVariant: variantName }) === undefined)
    throw new TargetRejected("the flag is disabled or has targeting; propose a complete definition");
  return variantName;
}

/** Renders a flag; for a value, only the default variant and the metadata of the present text change. */
function renderFlag(current: TargetValue, value: unknown, change_id: string): string {
  if (isDefinition(value)) {
    const metadata = { ...(isObject(value.metadata) ? value.metadata : {}), [CHANGE_ID]: change_id };
    return JSON.stringify({ ...value, metadata });
  }
  return setChangeId(setDefault(current.raw!, requireVariant(current, value)), change_id);
}

const setDefault = (text: string, variant: string): string =>
  setMember(text, [], "defaultVariant", JSON.stringify(variant));

/** Names a change in the metadata of a flag's text. */
const setChangeId = (text: string, change_id: string): string =>
  isObject(parseStrictJson(readMember(text, [], "metadata") ?? "null"))
    ? setMember(text, ["metadata"], CHANGE_ID, JSON.stringify(change_id))
    : setMember(text, [], "metadata", JSON.stringify({ [CHANGE_ID]: change_id }));

/** Returns the stored text when it has the stored value. Throws `TargetRejected`. */
function checkRaw({ value, raw }: TargetValue): string {
  const flag = parseStrictJson(raw!) as Flag;
  const isSame = isSameValue(removeChangeId(flag), value) || isSameValue(readCommonValue(flag) ?? null, value);
  if (!isSame) throw new TargetRejected("the stored text of the flag differs from its stored value");
  return raw!;
}
