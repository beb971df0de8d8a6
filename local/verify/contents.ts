/** Holds the contents that an export carries, of changes and of intents, against the hashes in its entries. */
import { hash } from "node:crypto";
import type { Finding } from "./chain.ts";
import type { Entry } from "./line.ts";
import { decoded, parseDetail, readManifestHash } from "./detail.ts";
import { type Detail, isObject, parseJson, parseObject } from "./json.ts";
import { isOfManifest, type Principals } from "./named_keys.ts";
import { parseKeys } from "./policy.ts";

/** State of the contents. */
export interface Contents {
  /** Contents of changes, and manifests of intents, that are what their entries have the hash of. */
  changes: number;
  intents: number;
  unfit: number;
  missing: number;
  erased: number;
  /** The first hundred that were erased. */
  erased_changes: string[];
}

const MOST_LISTED = 100;

/** A content that must follow an entry. */
interface Awaited {
  line: number;
  entry: Entry;
  rule: "content" | "intent";
  /** Beginning of the line; the content follows, and a brace. */
  begins: string;
  /** The same of a change whose content was erased; what is left of it follows. */
  erased?: string;
  digest: unknown;
  name: string;
}

/** Returns whether a line is a content, not an entry. */
export const isCarried = (line: string): boolean =>
  line.startsWith('{"change_id":') || line.startsWith('{"manifest_hash":');

/**
 * Checks contents one after another. Memory is that of erased changes whose erasure is yet to come. Text is one character a
 * byte. `principalsOf`: what the entry of an intent says of its principals; `learn` takes the content of a change, and
 * returns why it is not of the entry before it.
 */
export function newContentsCheck(
  principalsOf: (manifest: string) => Principals | undefined,
  learn: (changeId: string, content: Detail) => string | undefined = () => undefined,
) {
  const contents: Contents = { changes: 0, intents: 0, unfit: 0, missing: 0, erased: 0, erased_changes: [] };
  /** Rests of changes that are marked as erased, until an entry confirms it, by change. */
  const left = new Map<string, { line: number; entry: number; digest: string }>();
  let awaited: Awaited | undefined;

  const finding = (line: number, entry: number, rule: Finding["rule"], message: string): Finding => {
    contents.unfit++;
    return { line, entry, rule, message };
  };

  const missed = (): Finding | undefined => {
    if (!awaited) return undefined;
    const { line, entry, rule, name } = awaited;
    awaited = undefined;
    contents.missing++;
    return { line, entry: entry.id, rule, message: `${name} is missing` };
  };

  const erasedBy = (entry: Entry, line: number): Finding | undefined => {
    const known = left.get(entry.changeId);
    if (!known) return undefined;
    left.delete(entry.changeId);
    const change = decoded(entry.changeId);
    if (parseDetail(entry)["remaining_digest"] !== known.digest)
      return finding(line, entry.id, "content", `what is left of ${change} is not what its erasure left`);
    if (++contents.erased <= MOST_LISTED) contents.erased_changes.push(change);
    return undefined;
  };

  return {
    contents,
    /** An entry; what does not hold of what stood behind the one before, or of an erasure. */
    follow(entry: Entry | undefined, line: number): (Finding | undefined)[] {
      const before = missed();
      if (entry?.eventType === "content_erased") return [before, erasedBy(entry, line)];
      awaited = entry && awaitedBehind(entry, line);
      return [before];
    },
    /** A line that is carried; what does not hold of it. */
    take(text: string, line: number): Finding | undefined {
      const now = awaited;
      const begins = [now?.begins, now?.erased].find((form) => form !== undefined && text.startsWith(form));
      if (!now || begins === undefined || !text.endsWith("}"))
        return { line, entry: null, rule: "form", message: "the line does not stand behind the entry that it is of" };
      awaited = undefined;
      const digest = hash("sha256", Buffer.from(text.slice(begins.length, -1), "latin1"), "hex");
      if (begins === now.erased) left.set(now.entry.changeId, { line, entry: now.entry.id, digest });
      else if (digest !== now.digest)
        return finding(line, now.entry.id, now.rule, "it is not what the entry has the hash of");
      else if (now.rule === "intent") {
        const why = whyOther(decoded(text.slice(begins.length, -1)), principalsOf(String(now.digest)));
        if (why !== undefined) return finding(line, now.entry.id, "intent", why);
        contents.intents++;
      } else {
        contents.changes++;
        const content = parseObject(decoded(text.slice(begins.length, -1)));
        const [stated, own] = [parseDetail(now.entry), content ?? {}].map((one) => one["apply_when"]);
        const isSame = stated === own && (own === undefined || typeof own === "string");
        if (content && !isSame)
          return finding(line, now.entry.id, "content", "it names another apply_when than its content");
        const why = content && learn(decoded(now.entry.changeId), content);
        if (why !== undefined) return finding(line, now.entry.id, "content", why);
      }
      return undefined;
    },
    /** Returns the findings after the last line. */
    end: (): (Finding | undefined)[] => [
      missed(),
      ...[...left].map(([change, { line, entry }]) =>
        finding(line, entry, "content", `${decoded(change)} is said to be erased, and no entry says so`),
      ),
    ],
  };
}

/** Explains why the entry of an intent says something else of its principals than the manifest, if it does. */
function whyOther(manifest: string, stated: Principals | undefined): string | undefined {
  try {
    const value = parseJson(manifest);
    if (isObject(value) && stated)
      return isOfManifest(stated, parseKeys(value["principals"] ?? {}))
        ? undefined
        : "its entry names other principals, or other keys of theirs, than the manifest";
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  return "it is no intent that a service loads";
}

function awaitedBehind(entry: Entry, line: number): Awaited | undefined {
  if (entry.eventType === "change_proposed") {
    const id = `{"change_id":${JSON.stringify(entry.changeId)},`;
    const { digest } = parseDetail(entry);
    const name = `the content of ${decoded(entry.changeId)}`;
    return { line, entry, rule: "content", begins: `${id}"content":`, erased: `${id}"erased":`, digest, name };
  }
  if (entry.eventType !== "intent_in_force") return undefined;
  const digest = readManifestHash(parseDetail(entry));
  const begins = `{"manifest_hash":${JSON.stringify(Buffer.from(digest).toString("latin1"))},"manifest":`;
  return { line, entry, rule: "intent", begins, digest, name: `the manifest ${digest}` };
}
