/** Tests the verifier's check of contents after entries, and its report on accepted losses. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createContentsCheck } from "../../../local/verify/contents.ts";
import { isContentLine } from "../../../local/verify/line.ts";
import { lossText, readLoss, explainLoss } from "../../../local/verify/losses.ts";
import type { Principals } from "../../../local/verify/named_keys.ts";

type Detail = Record<string, unknown>;
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
let lastId = 0;
const entry = (eventType: string, detail: Detail, changeId = "c1") =>
  ({
    id: ++lastId,
    eventType,
    changeId,
    timestamp: "2026-01-01T00:00:00.000Z",
    detail: JSON.stringify(detail),
  }) as never;

const CONTENT = '{"apply_when":"approved"}';
const proposal = (detail: Detail = {}, text = CONTENT) =>
  entry("change_proposed", { digest: digestOf(text), apply_when: "approved", ...detail });
const contentLine = (text = CONTENT, form = "content", change = "c1") => `{"change_id":"${change}","${form}":${text}}`;
const MANIFEST = '{"principals":{"ana":{"kind":"person"}}}';
const intent = (text = MANIFEST) => entry("intent_in_force", { manifest_hash: digestOf(text) });
const manifestLine = (text = MANIFEST) => `{"manifest_hash":"${digestOf(text)}","manifest":${text}}`;
const erased = (text: string) => entry("content_erased", { remaining_digest: digestOf(text) });
/** The principals that every entry of an intent names: those of MANIFEST. */
const NAMED: Principals = new Map([["ana", { kind: "person", keys: [] }]]);

/** Checks entries and lines (strings) in their order; returns the messages and the counts that are not 0. */
function run(steps: readonly unknown[], addContent?: () => string | undefined) {
  const check = createContentsCheck(() => NAMED, addContent);
  const found = steps.flatMap((step, at) =>
    typeof step === "string" ? [check.checkContent(step, at)] : check.checkEntry(step as never, at),
  );
  const messages = [...found, ...check.finish()].flatMap((one) => (one ? [`${one.rule}: ${one.message}`] : []));
  const { erased_changes: _, ...counts } = check.contents;
  return [messages, Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))];
}

const NOT_AFTER_ENTRY = "form: the content does not directly follow its entry";
const OTHER_HASH = "the content does not match the hash in its entry";
const NO_INTENT = "intent: the manifest is not an intent that the service would load";
const REMAINING = "{}";

test.each<[what: string, steps: unknown[], messages: string[], counts: Detail]>([
  ["none", [entry("change_denied", {})], [], {}],
  ["a content", [proposal(), contentLine()], [], { changes: 1 }],
  ["two contents", [proposal(), contentLine(), proposal(), contentLine()], [], { changes: 2 }],
  ["a content that is missing", [proposal()], ["content: the content of c1 is missing"], { missing: 1 }],
  [
    "a content that is missing before a line that is not an entry",
    [proposal(), undefined],
    ["content: the content of c1 is missing"],
    { missing: 1 },
  ],
  [
    "a content that is missing before another",
    [proposal(), proposal(), contentLine()],
    ["content: the content of c1 is missing"],
    { missing: 1, changes: 1 },
  ],
  ["another content", [proposal(), contentLine("{}")], [`content: ${OTHER_HASH}`], { unfit: 1 }],
  [
    "the content of another change",
    [proposal(), contentLine(CONTENT, "content", "c2")],
    [NOT_AFTER_ENTRY, "content: the content of c1 is missing"],
    { missing: 1 },
  ],
  [
    "a content that is cut",
    [proposal(), contentLine().slice(0, -2)],
    [NOT_AFTER_ENTRY, "content: the content of c1 is missing"],
    { missing: 1 },
  ],
  ["a content twice", [proposal(), contentLine(), contentLine()], [NOT_AFTER_ENTRY], { changes: 1 }],
  ["a content without an entry", [contentLine()], [NOT_AFTER_ENTRY], {}],
  // A content whose hash matches its entry is counted among `changes`, also if something else in it does not match.
  [
    "another apply_when",
    [proposal({ apply_when: undefined }), contentLine()],
    ["content: its apply_when is not that of its content"],
    { changes: 1, unfit: 1 },
  ],
  ["no apply_when", [proposal({ apply_when: undefined }, "{}"), contentLine("{}")], [], { changes: 1 }],
  [
    "an apply_when that is no text",
    [proposal({ apply_when: 5 }, '{"apply_when":5}'), contentLine('{"apply_when":5}')],
    ["content: its apply_when is not that of its content"],
    { changes: 1, unfit: 1 },
  ],
  ["a content that is no object", [proposal({}, "[]"), contentLine("[]")], [], { changes: 1 }],
  ["an erased content", [proposal(), contentLine(REMAINING, "erased"), erased(REMAINING)], [], { erased: 1 }],
  [
    "an erased content whose erasure no entry records",
    [proposal(), contentLine(REMAINING, "erased")],
    ["content: c1 is marked as erased, but no entry records an erasure"],
    { unfit: 1 },
  ],
  [
    "another erasure",
    [proposal(), contentLine(REMAINING, "erased"), erased("[]")],
    ["content: the remaining content of c1 does not match the remaining_digest of its erasure"],
    { unfit: 1 },
  ],
  ["an erasure alone", [erased(REMAINING)], [], {}],
  [
    "an erasure of a content that is missing",
    [proposal(), erased(REMAINING)],
    ["content: the content of c1 is missing"],
    { missing: 1 },
  ],
  ["a manifest", [intent(), manifestLine()], [], { intents: 1 }],
  ["a manifest that is missing", [intent()], [`intent: the manifest ${digestOf(MANIFEST)} is missing`], { missing: 1 }],
  [
    "another manifest",
    [intent("{}"), manifestLine().replace(digestOf(MANIFEST), digestOf("{}"))],
    [`intent: ${OTHER_HASH}`],
    { unfit: 1 },
  ],
  [
    "a manifest of other people",
    [intent("{}"), manifestLine("{}")],
    ["intent: the principals or keys in its entry are not those of the manifest"],
    { unfit: 1 },
  ],
  ["a manifest that is no object", [intent("[]"), manifestLine("[]")], [NO_INTENT], { unfit: 1 }],
  ["a manifest that is no JSON", [intent("{"), manifestLine("{")], [NO_INTENT], { unfit: 1 }],
  [
    "a manifest of wrong principals",
    [intent('{"principals":5}'), manifestLine('{"principals":5}')],
    [NO_INTENT],
    { unfit: 1 },
  ],
])("an export with %s", (_, steps, messages, counts) => {
  expect(run(steps)).toEqual([messages, counts]);
});

test("a manifest whose principals are unknown is reported as no intent", () => {
  const check = createContentsCheck(() => undefined);
  check.checkEntry(intent(), 1);
  expect(check.checkContent(manifestLine(), 2)).toMatchObject({
    message: "the manifest is not an intent that the service would load",
  });
});

test("a defect found in a content is a finding of its entry", () => {
  expect(run([proposal(), contentLine()], () => "no")).toEqual([["content: no"], { changes: 1, unfit: 1 }]);
});

test("the first hundred erased changes are listed, and all are counted", () => {
  const check = createContentsCheck(() => undefined);
  for (let at = 0; at < 101; at++) {
    check.checkEntry(entry("change_proposed", {}, `c${at}`), 1);
    check.checkContent(contentLine(REMAINING, "erased", `c${at}`), 2);
    check.checkEntry(entry("content_erased", { remaining_digest: digestOf(REMAINING) }, `c${at}`), 3);
  }
  expect(check.contents.erased).toBe(101);
  expect(check.contents.erased_changes).toHaveLength(100);
});

test.each([
  ['{"change_id":1}', true],
  ['{"manifest_hash":1}', true],
  ['{"origin":1}', false],
])("%s is the line of a content or manifest: %s", (line, expected) => expect(isContentLine(line)).toBe(expected));

const loss = (detail: Detail) => readLoss(entry("loss_accepted", { actor: "ana", note: "", ...detail }))!;

/** `length`: a length that the log had; `covers`: the loss explains that the log is shorter now. */
test.each<[loss: string, detail: Detail, text: string, length: number, covers: boolean]>([
  ["up to a length", { length: 5, known: { length: 9, head: "h" } }, "after 5 up to 9", 9, true],
  ["up to a shorter length", { length: 5, known: { length: 9, head: "h" } }, "after 5 up to 9", 10, false],
  [
    "whose remaining entries were rewritten",
    { length: 5, known: { length: 9, head: "h" } },
    "after 5 up to 9",
    5,
    false,
  ],
  ["of a log that has grown since", { length: 12, known: { length: 9, head: "h" } }, "up to 9", 8, true],
  ["without entries", { length: 5, known: { length: 5, head: "h" } }, "up to 5", 5, true],
  ["of unknown length", { length: 5, known: { length: 9, head: null } }, "after 5, an unknown number,", 6, true],
  ["of unknown length, before it", { length: 5, known: { head: null } }, "after 5, an unknown number,", 5, false],
  ["without figures", { known: "x" }, "up to 0", 1, false],
  ["with malformed figures", { length: 1.5, known: { length: "9", head: "h" } }, "up to 0", 1, false],
])("a loss %s", (_, detail, text, length, covers) => {
  const found = loss(detail);
  expect(lossText(found)).toBe(
    `entry ${found.entry}, 2026-01-01T00:00:00.000Z: ana accepted that entries ${text} are lost; they may have been acknowledged`,
  );
  expect(explainLoss([found], length)).toBe(covers ? `; ${lossText(found)}` : "");
});

test("an entry of another event is not a loss, and a loss without an actor has no name", () => {
  expect(readLoss(entry("change_denied", {}))).toBe(undefined);
  expect(loss({ actor: 5, note: 5 })).toMatchObject({ actor: "", note: "" });
});
