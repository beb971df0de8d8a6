/** Verifies the contents of changes and intents in an export against the hashes in its entries. */
import { hash } from "node:crypto";
import type { Finding } from "./chain.ts";
import type { Entry } from "./line.ts";
import { decodeUtf8, parseDetail, readManifestHash } from "./entry_detail.ts";
import { type JsonObject, isObject, parseJson, parseObject } from "./json.ts";
import { matchesManifest, type Principals } from "./named_keys.ts";
import { parseKeys } from "./policy.ts";

/** Counts of the contents that were checked. */
export interface Contents {
  /** Contents of changes that match the hash in their entry, also those that contradict it otherwise. */
  changes: number;
  /** Manifests that match the hash and the principals in their entry. */
  intents: number;
  /** Contents that contradict their entry or the entry of their erasure, and erased ones without such an entry. */
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

/**
 * Creates a check that takes entries and contents in their order. It remembers erased contents until the entry of their
 * erasure. Text has one character for each byte. `findPrincipals` returns the principals that the entry of an intent names;
 * `addContent` takes the content of a change, and returns why it does not match the entry before it.
 */
export function createContentsCheck(
  findPrincipals: (manifest: string) => Principals | undefined,
  addContent: (changeId: string, content: JsonObject) => string | undefined = () => undefined,
) {
  const contents: Contents = { changes: 0, intents: 0, unfit: 0, missing: 0, erased: 0, erased_changes: [] };
  /** Contents that are marked as erased and whose erasure no entry has confirmed yet, by change. */
  const erasedContents = new Map<string, { line: number; entry: number; digest: string }>();
  let expected: ExpectedContent | undefined;

  const reportUnfit = (line: number, entry: number, rule: Finding["rule"], message: string): Finding => {
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
    const erased = erasedContents.get(entry.changeId);
    if (!erased) return undefined;
    erasedContents.delete(entry.changeId);
    const change = decodeUtf8(entry.changeId);
    if (parseDetail(entry)["remaining_digest"] !== erased.digest)
      return reportUnfit(
        line,
        entry.id,
        "content",
        `the remaining content of ${change} does not match the remaining_digest of its erasure`,
      );
    if (++contents.erased <= MAX_LISTED_ERASURES) contents.erased_changes.push(change);
    return undefined;
  };

  /** Explains why the content of a change contradicts its entry. A content that is no object matches by its hash alone. */
  const findContentProblem = (entry: Entry, content: JsonObject | undefined): string | undefined => {
    if (!content) return undefined;
    const { apply_when: recorded } = parseDetail(entry);
    const { apply_when: applyWhen } = content;
    const isSame = recorded === applyWhen && (applyWhen === undefined || typeof applyWhen === "string");
    return isSame ? addContent(decodeUtf8(entry.changeId), content) : "its apply_when is not that of its content";
  };

  return {
    contents,
    /** Takes an entry; returns what is wrong with the content of the entry before it, or with an erasure. */
    checkEntry(entry: Entry | undefined, line: number): (Finding | undefined)[] {
      const missing = reportMissing();
      if (entry?.eventType === "content_erased") return [missing, confirmErasure(entry, line)];
      expected = entry && findExpectedContent(entry, line);
      return [missing];
    },
    /** Takes a content line; returns what is wrong with it. */
    checkContent(text: string, line: number): Finding | undefined {
      const current = expected;
      const prefixes = [current?.prefix, current?.erasedPrefix];
      const prefix = prefixes.find((one) => one !== undefined && text.startsWith(one));
      if (!current || prefix === undefined || !text.endsWith("}"))
        return { line, entry: null, rule: "form", message: "the content does not directly follow its entry" };
      expected = undefined;
      const { entry, rule } = current;
      const stated = text.slice(prefix.length, -1);
      const digest = hash("sha256", Buffer.from(stated, "latin1"), "hex");
      if (prefix === current.erasedPrefix) {
        erasedContents.set(entry.changeId, { line, entry: entry.id, digest });
        return undefined;
      }
      if (digest !== current.digest)
        return reportUnfit(line, entry.id, rule, "the content does not match the hash in its entry");
      if (rule === "content") contents.changes++;
      const problem =
        rule === "intent"
          ? findManifestProblem(decodeUtf8(stated), findPrincipals(String(current.digest)))
          : findContentProblem(entry, parseObject(decodeUtf8(stated)));
      if (problem !== undefined) return reportUnfit(line, entry.id, rule, problem);
      if (rule === "intent") contents.intents++;
      return undefined;
    },
    /** Returns the findings after the last line. */
    finish: (): (Finding | undefined)[] => [
      reportMissing(),
      ...[...erasedContents].map(([change, { line, entry }]) =>
        reportUnfit(
          line,
          entry,
          "content",
          `${decodeUtf8(change)} is marked as erased, but no entry records an erasure`,
        ),
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
        : "the principals or keys in its entry are not those of the manifest";
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  return "the manifest is not an intent that the service would load";
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
  // The detail was decoded; the line has one character for each byte.
  const prefix = `{"manifest_hash":${JSON.stringify(Buffer.from(digest).toString("latin1"))},"manifest":`;
  return { line, entry, rule: "intent", prefix, digest, name: `the manifest ${digest}` };
}
