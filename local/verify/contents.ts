/** Verifies the contents of changes and intents in an export against the hashes in its entries. */
import { hash } from "node:crypto";
import type { Finding } from "./chain.ts";
import type { Entry } from "./line.ts";
import { decodeUtf8, parseDetail, readManifestHash } from "./detail.ts";
import { type JsonObject, isObject, parseJson, parseObject } from "./json.ts";
import { matchesManifest, type Principals } from "./named_keys.ts";
import { parseKeys } from "./policy.ts";

/** Counts of the contents that were checked. */
export interface Contents {
  /** Contents of changes, and intents, that match the hash in their entry. */
  changes: number;
  intents: number;
  unfit: number;
  missing: number;
  erased: number;
  /** Ids of the first 100 changes whose content was erased. */
  erased_changes: string[];
}

const MAX_LISTED_ERASURES = 100;

/** A content that must stand on the line after its entry. */
interface ExpectedContent {
  line: number;
  entry: Entry;
  rule: "content" | "intent";
  /** Beginning of the line; the content follows, then a closing brace. */
  prefix: string;
  /** Beginning of the line if the content was erased; the remaining fields follow. */
  erasedPrefix?: string;
  digest: unknown;
  name: string;
}

/** Checks that a line is a content, not an entry. */
export const isContentLine = (line: string): boolean =>
  line.startsWith('{"change_id":') || line.startsWith('{"manifest_hash":');

/**
 * Creates a check that takes entries and contents in their order. It remembers erased contents until the entry of their
 * erasure. Text has one character for each byte. `findPrincipals` returns the principals that the entry of an intent names;
 * `learn` takes the content of a change, and returns why it does not match the entry before it.
 */
export function createContentsCheck(
  findPrincipals: (manifest: string) => Principals | undefined,
  learn: (changeId: string, content: JsonObject) => string | undefined = () => undefined,
) {
  const contents: Contents = { changes: 0, intents: 0, unfit: 0, missing: 0, erased: 0, erased_changes: [] };
  /** Contents that are marked as erased and whose erasure no entry has confirmed yet, by change. */
  const erasedContents = new Map<string, { line: number; entry: number; digest: string }>();
  let expected: ExpectedContent | undefined;

  const finding = (line: number, entry: number, rule: Finding["rule"], message: string): Finding => {
    contents.unfit++;
    return { line, entry, rule, message };
  };

  const reportMissing = (): Finding | undefined => {
    if (!expected) return undefined;
    const { line, entry, rule, name } = expected;
    expected = undefined;
    contents.missing++;
    return { line, entry: entry.id, rule, message: `${name} is missing` };
  };

  const confirmErasure = (entry: Entry, line: number): Finding | undefined => {
    const known = erasedContents.get(entry.changeId);
    if (!known) return undefined;
    erasedContents.delete(entry.changeId);
    const change = decodeUtf8(entry.changeId);
    if (parseDetail(entry)["remaining_digest"] !== known.digest)
      return finding(line, entry.id, "content", `what is left of ${change} is not what its erasure left`);
    if (++contents.erased <= MAX_LISTED_ERASURES) contents.erased_changes.push(change);
    return undefined;
  };

  return {
    contents,
    /** Takes an entry; returns what is wrong with the content of the entry before it, or with an erasure. */
    checkEntry(entry: Entry | undefined, line: number): (Finding | undefined)[] {
      const before = reportMissing();
      if (entry?.eventType === "content_erased") return [before, confirmErasure(entry, line)];
      expected = entry && findExpectedContent(entry, line);
      return [before];
    },
    /** Takes a content line; returns what is wrong with it. */
    checkContent(text: string, line: number): Finding | undefined {
      const now = expected;
      const begins = [now?.prefix, now?.erasedPrefix].find((form) => form !== undefined && text.startsWith(form));
      if (!now || begins === undefined || !text.endsWith("}"))
        return { line, entry: null, rule: "form", message: "the line does not stand behind the entry that it is of" };
      expected = undefined;
      const digest = hash("sha256", Buffer.from(text.slice(begins.length, -1), "latin1"), "hex");
      if (begins === now.erasedPrefix) erasedContents.set(now.entry.changeId, { line, entry: now.entry.id, digest });
      else if (digest !== now.digest)
        return finding(line, now.entry.id, now.rule, "it is not what the entry has the hash of");
      else if (now.rule === "intent") {
        const problem = findManifestProblem(
          decodeUtf8(text.slice(begins.length, -1)),
          findPrincipals(String(now.digest)),
        );
        if (problem !== undefined) return finding(line, now.entry.id, "intent", problem);
        contents.intents++;
      } else {
        contents.changes++;
        const content = parseObject(decodeUtf8(text.slice(begins.length, -1)));
        const [stated, own] = [parseDetail(now.entry), content ?? {}].map((one) => one["apply_when"]);
        const isSame = stated === own && (own === undefined || typeof own === "string");
        if (content && !isSame)
          return finding(line, now.entry.id, "content", "it names another apply_when than its content");
        const problem = content && learn(decodeUtf8(now.entry.changeId), content);
        if (problem !== undefined) return finding(line, now.entry.id, "content", problem);
      }
      return undefined;
    },
    /** Returns the findings after the last line. */
    finish: (): (Finding | undefined)[] => [
      reportMissing(),
      ...[...erasedContents].map(([change, { line, entry }]) =>
        finding(line, entry, "content", `${decodeUtf8(change)} is said to be erased, and no entry says so`),
      ),
    ],
  };
}

/** Explains why the principals in an intent's entry differ from those in its manifest; undefined where they do not. */
function findManifestProblem(manifest: string, stated: Principals | undefined): string | undefined {
  try {
    const value = parseJson(manifest);
    if (isObject(value) && stated)
      return matchesManifest(stated, parseKeys(value["principals"] ?? {}))
        ? undefined
        : "its entry names other principals, or other keys of theirs, than the manifest";
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  return "it is no intent that a service loads";
}

function findExpectedContent(entry: Entry, line: number): ExpectedContent | undefined {
  if (entry.eventType === "change_proposed") {
    const id = `{"change_id":${JSON.stringify(entry.changeId)},`;
    const { digest } = parseDetail(entry);
    const name = `the content of ${decodeUtf8(entry.changeId)}`;
    return { line, entry, rule: "content", prefix: `${id}"content":`, erasedPrefix: `${id}"erased":`, digest, name };
  }
  if (entry.eventType !== "intent_in_force") return undefined;
  const digest = readManifestHash(parseDetail(entry));
  const begins = `{"manifest_hash":${JSON.stringify(Buffer.from(digest).toString("latin1"))},"manifest":`;
  return { line, entry, rule: "intent", prefix: begins, digest, name: `the manifest ${digest}` };
}
