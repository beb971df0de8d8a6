/** Tests the verifier's check of contents after entries, and its report on accepted losses. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createContentsCheck } from "../../../local/verify/contents.ts";
import { isContentLine } from "../../../local/verify/line.ts";
import { lossText, readLoss, explainLoss } from "../../../local/verify/losses.ts";
import type { Principals } from "../../../local/verify/named_keys.ts";

type Detail = Record<string, unknown>;
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
let next = 0;
const entry = (eventType: string, detail: Detail, changeId = "c1") =>
  ({ id: ++next, eventType, changeId, timestamp: "2026-01-01T00:00:00.000Z", detail: JSON.stringify(detail) }) as never;

const CONTENT = '{"apply_when":"approved"}';
const proposal = (detail: Detail = {}, text = CONTENT) =>
  entry("change_proposed", { digest: digestOf(text), apply_when: "approved", ...detail });
const carried = (text = CONTENT, form = "content", change = "c1") => `{"change_id":"${change}","${form}":${text}}`;
const MANIFEST = '{"principals":{"ana":{"kind":"person"}}}';
const intent = (text = MANIFEST) => entry("intent_in_force", { manifest_hash: digestOf(text) });
const manifest = (text = MANIFEST) => `{"manifest_hash":"${digestOf(text)}","manifest":${text}}`;
const erased = (text: string) => entry("content_erased", { remaining_digest: digestOf(text) });
const NAMED: Principals = new Map([["ana", { kind: "person", keys: [] }]]);

/** Runs entries and lines in their order; returns the messages and the counts that are not 0. */
function run(
  steps: readonly unknown[],
  principals: Principals | undefined = NAMED,
  addContent?: () => string | undefined,
) {
  const check = createContentsCheck(() => principals, addContent);
  const found = steps.flatMap((step, at) =>
    typeof step === "string" ? [check.checkContent(step, at)] : check.checkEntry(step as never, at),
  );
  const messages = [...found, ...check.finish()].flatMap((one) => (one ? [`${one.rule}: ${one.message}`] : []));
  const { erased_changes: _, ...counts } = check.contents;
  return [messages, Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))];
}

const NOT_BEHIND = "form: the content does not directly follow its entry";
const OTHER_HASH = "the content does not match the hash in its entry";
const NO_INTENT = "intent: the manifest is not an intent that the service would load";
const LEFT = "{}";

test.each<[what: string, steps: unknown[], messages: string[], counts: Detail, principals?: Principals]>([
  ["none", [entry("change_denied", {})], [], {}],
  ["a content", [proposal(), carried()], [], { changes: 1 }],
  ["two contents", [proposal(), carried(), proposal(), carried()], [], { changes: 2 }],
  ["a content that is missing", [proposal()], ["content: the content of c1 is missing"], { missing: 1 }],
  [
    "a content that is missing before a line that is not an entry",
    [proposal(), undefined],
    ["content: the content of c1 is missing"],
    { missing: 1 },
  ],
  [
    "a content that is missing before another",
    [proposal(), proposal(), carried()],
    ["content: the content of c1 is missing"],
    { missing: 1, changes: 1 },
  ],
  ["another content", [proposal(), carried("{}")], [`content: ${OTHER_HASH}`], { unfit: 1 }],
  [
    "the content of another change",
    [proposal(), carried(CONTENT, "content", "c2")],
    [NOT_BEHIND, "content: the content of c1 is missing"],
    { missing: 1 },
  ],
  [
    "a content that is cut",
    [proposal(), carried().slice(0, -2)],
    [NOT_BEHIND, "content: the content of c1 is missing"],
    { missing: 1 },
  ],
  ["a content twice", [proposal(), carried(), carried()], [NOT_BEHIND], { changes: 1 }],
  ["a content without an entry", [carried()], [NOT_BEHIND], {}],
  // A content whose hash matches its entry is counted among `changes`, also if something else in it does not match.
  [
    "another apply_when",
    [proposal({ apply_when: undefined }), carried()],
    ["content: its apply_when is not that of its content"],
    { changes: 1, unfit: 1 },
  ],
  ["no apply_when", [proposal({ apply_when: undefined }, "{}"), carried("{}")], [], { changes: 1 }],
  [
    "an apply_when that is no text",
    [proposal({ apply_when: 5 }, '{"apply_when":5}'), carried('{"apply_when":5}')],
    ["content: its apply_when is not that of its content"],
    { changes: 1, unfit: 1 },
  ],
  ["a content that is no object", [proposal({}, "[]"), carried("[]")], [], { changes: 1 }],
  ["an erased content", [proposal(), carried(LEFT, "erased"), erased(LEFT)], [], { erased: 1 }],
  [
    "an erased content whose erasure no entry records",
    [proposal(), carried(LEFT, "erased")],
    ["content: c1 is marked as erased, but no entry records an erasure"],
    { unfit: 1 },
  ],
  [
    "another erasure",
    [proposal(), carried(LEFT, "erased"), erased("[]")],
    ["content: the remaining content of c1 does not match the remaining_digest of its erasure"],
    { unfit: 1 },
  ],
  ["an erasure alone", [erased(LEFT)], [], {}],
  [
    "an erasure of a content that is missing",
    [proposal(), erased(LEFT)],
    ["content: the content of c1 is missing"],
    { missing: 1 },
  ],
  ["a manifest", [intent(), manifest()], [], { intents: 1 }],
  ["a manifest that is missing", [intent()], [`intent: the manifest ${digestOf(MANIFEST)} is missing`], { missing: 1 }],
  [
    "another manifest",
    [intent("{}"), manifest().replace(digestOf(MANIFEST), digestOf("{}"))],
    [`intent: ${OTHER_HASH}`],
    { unfit: 1 },
  ],
  [
    "a manifest of other people",
    [intent("{}"), manifest("{}")],
    ["intent: the principals or keys in its entry are not those of the manifest"],
    { unfit: 1 },
  ],
  ["a manifest that is no object", [intent("[]"), manifest("[]")], [NO_INTENT], { unfit: 1 }],
  ["a manifest that is no JSON", [intent("{"), manifest("{")], [NO_INTENT], { unfit: 1 }],
  [
    "a manifest of wrong principals",
    [intent('{"principals":5}'), manifest('{"principals":5}')],
    [NO_INTENT],
    { unfit: 1 },
  ],
])("an export with %s", (_, steps, messages, counts, principals) => {
  expect(run(steps, principals)).toEqual([messages, counts]);
});

test("a manifest whose principals are unknown is reported as no intent", () => {
  const check = createContentsCheck(() => undefined);
  check.checkEntry(intent(), 1);
  expect(check.checkContent(manifest(), 2)).toMatchObject({
    message: "the manifest is not an intent that the service would load",
  });
});

test("a defect found in a content is a finding of its entry", () => {
  expect(run([proposal(), carried()], NAMED, () => "no")).toEqual([["content: no"], { changes: 1, unfit: 1 }]);
});

test("the first hundred erased changes are listed, and all are counted", () => {
  const check = createContentsCheck(() => undefined);
  for (let at = 0; at < 101; at++) {
    check.checkEntry(entry("change_proposed", {}, `c${at}`), 1);
    check.checkContent(carried(LEFT, "erased", `c${at}`), 2);
    check.checkEntry(entry("content_erased", { remaining_digest: digestOf(LEFT) }, `c${at}`), 3);
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

test.each<[loss: string, detail: Detail, text: string, length: number, covers: boolean]>([
  ["up to a length", { length: 5, known: { length: 9, head: "h" } }, "after 5 up to 9", 9, true],
  ["up to a shorter length", { length: 5, known: { length: 9, head: "h" } }, "after 5 up to 9", 10, false],
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
