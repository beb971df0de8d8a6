/** Sentences of notifications, and their bodies for Slack and Teams: text of people cannot change their form. */
import { describe, expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { selectCases } from "../../../support/run_length.ts";
import { formatBody } from "../../../../lib/operations/notify/format.ts";
import { NOTIFICATION_TYPES, type Notification } from "../../../../lib/operations/notify/notification.ts";
import { describeNotification, type NotificationFacts } from "../../../../lib/operations/notify/sentence.ts";
import { describeMissing } from "../../../../lib/operations/notify/words.ts";

const CHANGE = {
  change_id: "chg_1",
  tenant_id: "t1",
  target: "limits.seats",
  summary: "Raise the limit",
  risk: "high",
  reversible: false,
  affected_users: 1,
  proposer: "pat",
  status: "pending_consent",
  resolution: null,
  approvals: [],
} as unknown as Change;

/** Describes a pending change, with some other facts. */
const describeWith = (facts: Partial<NotificationFacts> = {}, change: Partial<Change> = {}): string =>
  describeNotification({
    type: "change.waiting_for_consent",
    change: { ...CHANGE, ...change },
    missing: [{ rule: "required_approvers", count: 1, of: ["ana", "bo"] }],
    expires_at: "2026-01-03T19:04:05.678Z",
    ...facts,
  });

const decisionEntry = (detail: object) => ({ event_type: "consent_decision", detail });

const notification = (text: string, url?: string): Notification => ({
  id: "evt_1",
  type: "change.waiting_for_consent",
  timestamp: "2026-01-02T03:04:05.678Z",
  product_id: "acme-crm",
  instance_id: "acme-crm@local",
  text,
  ...(url === undefined ? {} : { url }),
  data: { change: null, missing: [], expires_at: null },
});

test("a sentence states who, what, for whom, the risk, whose consent is missing and the deadline", () => {
  expect(describeWith()).toBe(
    "Consent is needed until 2026-01-03 at 19:04 UTC: pat proposes “Raise the limit” (limits.seats for tenant t1); high risk, cannot be undone, reaches 1 person; still missing: one of ana or bo.",
  );
  expect(describeWith({}, { status: "denied", resolution: "withdrawn" })).toBe(
    "Proposed by pat: “Raise the limit” (limits.seats for tenant t1); high risk, cannot be undone, reaches 1 person; meanwhile it is withdrawn.",
  );
});

test.each<[what: string, facts: Partial<NotificationFacts>, change: Partial<Change>, sentence: string]>([
  [
    "approved",
    { type: "change.decided", entry: decisionEntry({ decision: "approved", approver: "ana", note: "Fine." }) },
    { status: "approved", reversible: true, risk: "low", affected_users: null },
    "Approved by ana: “Raise the limit” (limits.seats for tenant t1), proposed by pat; note: “Fine.”; it can be applied until 2026-01-03 at 19:04 UTC.",
  ],
  [
    "approved in an emergency, whose review is due then",
    { type: "change.decided", entry: decisionEntry({ decision: "approved", approver: "ana", note: "Fine." }) },
    {
      status: "approved",
      reversible: true,
      risk: "low",
      affected_users: null,
      review: { due_at: "2026-01-03T19:04:05.678Z", verdict: null, approver: null, note: null, at: null },
    },
    "Approved by ana: “Raise the limit” (limits.seats for tenant t1), proposed by pat; note: “Fine.”; it can be applied.",
  ],
  [
    "minor",
    { type: "change.decided", entry: { event_type: "change_proposed", detail: { tier: "minor", proposer: "pat" } } },
    { risk: "low", reversible: true, affected_users: null },
    "Proposed by pat as a minor change, approved by the intent: “Raise the limit” (limits.seats for tenant t1).",
  ],
  [
    "lapsed",
    { type: "change.decided", entry: decisionEntry({ decision: "lapsed", approver: "policy:expiry" }) },
    {},
    "Lapsed, approved but not applied in time: “Raise the limit” (limits.seats for tenant t1), proposed by pat.",
  ],
  [
    "failed",
    {
      type: "change.apply_failed",
      entry: { event_type: "change_apply_failed", detail: { stage: "apply", error: "disk\nfull" } },
    },
    {},
    "Apply failed in apply: “Raise the limit” (limits.seats for tenant t1), proposed by pat; error: “disk full”; it is still approved.",
  ],
  [
    "drifted",
    { type: "change.drifted", entry: { event_type: "change_drifted", detail: { state: "missing" } } },
    {},
    "Changed outside Countersign, the host product shows nothing of it: “Raise the limit” (limits.seats for tenant t1), proposed by pat.",
  ],
  [
    "reported by a guardrail",
    {
      type: "guardrail.tripped",
      notice: {
        title: "csat fell by 1 (worse) after chg_1",
        detail: "The intent orders an alert.",
        ref: "chg_1",
        of_entry: true,
      },
    },
    {},
    "csat fell by 1 (worse) after “Raise the limit” (limits.seats for tenant t1); the intent orders an alert.",
  ],
  [
    "proposed by a model and erased",
    { type: "change.applied", entry: { event_type: "change_applied", detail: { actor: "ana" } } },
    {
      proposer: "llm:m",
      proposer_kind: "model",
      asked_by: "bo",
      erased: { at: "", entry: 1, digest: "" },
      risk: "low",
      reversible: true,
      affected_users: null,
    },
    "Applied by ana: limits.seats for tenant t1, proposed by the model m, asked by bo.",
  ],
])("the sentence of a change that is %s", (_, facts, change, sentence) =>
  expect(describeWith({ missing: [], ...facts }, change)).toBe(sentence),
);

test("missing approvers are named, up to five of them", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  expect(describeMissing([{ rule: "required_approvers", count: 2, of: ["ana", "bo"] }])).toBe("ana and bo");
  expect(describeMissing([{ rule: "required_approvers", count: 2, of: names }])).toBe("2 of a, b, c, d, e or 2 more");
  expect(describeMissing([{ rule: "required_approvers", count: 2, of: [] }])).toBe("2 people");
  expect(describeMissing([{ rule: "owners billing.*", count: 1, of: ["fin@acme.example"] }])).toBe(
    "fin@acme.example (for the owners of “billing.*”)",
  );
});

const HOSTILE = [
  "Urgent <!channel> <!here> <@U024BE7LH> <#C024BE7LR>",
  "<https://evil.example|Open in Countersign>",
  "[Open in Countersign](https://evil.example) **now** `code` ~~x~~ ![](https://evil.example/p.png)",
  "*bold* _it_ :skull: ```\nfence\n```",
  "done”; still missing: nobody. “",
  'done"; still missing: nobody. "',
  "one\r\nApproved by ana: everything\u2028Approved by bo\u0000\u0007",
  "\u202Enoitcnes\u202C \u2066\u2069\u200B\u200F\uFEFF",
  "<at>everyone</at> {{DATE(2026-01-01)}} ${x} &amp;lt;!channel&gt;",
  "&".repeat(500),
  "שלום 96",
  "a".repeat(400) + "\ud83d",
];

describe.each(selectCases(HOSTILE, 6))("a sentence with the text %j", (text) => {
  const sentences = [
    describeWith({}, { summary: text }),
    describeWith({}, { proposer: text, tenant_id: text }),
    describeWith({ missing: [{ rule: text, count: 1, of: [text] }] }),
    ...NOTIFICATION_TYPES.map((type) =>
      describeWith(
        {
          type,
          entry: {
            event_type: type === "change.decided" ? "consent_decision" : type.replace(".", "_"),
            detail: { decision: "denied", approver: text, note: text, error: text, stage: text, actor: text },
          },
          notice: { title: "It is chg_1", detail: text, ref: "chg_1", of_entry: false },
          reviewers: [text],
        },
        { summary: text, proposer: text, approvals: [{ approver: text, note: text, at: "", emergency: true }] },
      ),
    ),
  ];

  test("stays on one line, within its quotation marks and a maximum length", () => {
    for (const sentence of sentences) {
      expect(sentence).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u200B-\u200F\u202A-\u202E\u2066\u2067\uFEFF]/u);
      expect(sentence.length).toBeLessThan(1300);
      expect(sentence.isWellFormed()).toBe(true);
      // Quotation marks open and close alternately, so text outside of them is the service's.
      expect(sentence.replace(/[^“”]/g, "")).toMatch(/^(“”)*$/);
      // These two isolate right-to-left text, and must be in pairs too.
      expect(sentence.replace(/[^\u2068\u2069]/g, "")).toMatch(/^(\u2068\u2069)*$/);
      const outside = sentence.replace(/“[^”]*”/g, "");
      for (const forged of ["<", "evil", "nobody. ", "everyone", "Approved by ana", "skull"])
        expect(outside).not.toContain(forged);
    }
  });

  test("has no markup for Slack, where only the button is a link", () => {
    for (const sentence of sentences) {
      const body = formatBody.slack(notification(sentence, "https://gov.acme.example/#/changes/chg_1"));
      const { text, blocks } = JSON.parse(body);
      // The first two blocks have the sentence and the context; the third has the button.
      const texts = [
        text,
        ...blocks.slice(0, 2).flatMap((block: Block) => (block.elements ?? [block.text!]).map(readText)),
      ];
      for (const item of texts) {
        expect(item).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
        // The longest text that Slack accepts.
        expect(item.length).toBeLessThanOrEqual(3000);
      }
      expect(new Set(types(blocks))).toEqual(new Set(["section", "context", "actions", "button", "plain_text"]));
      expect(body.match(/"url":"[^"]*"/g)).toEqual(['"url":"https://gov.acme.example/#/changes/chg_1"']);
      if (isShort(sentence)) expect(unescape(blocks[0].text.text)).toBe(sentence);
    }
  });

  test("has no Markdown for Teams, where only the button is a link", () => {
    for (const sentence of sentences) {
      const body = formatBody.teams(notification(sentence, "https://gov.acme.example/#/changes/chg_1"));
      const { attachments } = JSON.parse(body);
      const { body: blocks, actions } = attachments[0].content;
      expect(blocks[0].inlines).toEqual([{ type: "TextRun", text: sentence }]);
      expect(new Set(types(blocks))).toEqual(new Set(["RichTextBlock", "TextRun"]));
      expect(actions).toEqual([
        { type: "Action.OpenUrl", title: "Open in Countersign", url: "https://gov.acme.example/#/changes/chg_1" },
      ]);
    }
  });
});

interface Block {
  type: string;
  text?: { text: string };
  elements?: { text: string }[];
}
const readText = ({ text }: { text: string }): string => text;
const types = (blocks: unknown): string[] =>
  [...JSON.stringify(blocks).matchAll(/(?<=[{,])"type":"(\w+)"/g)].map(([, type]) => type!);
/** Returns true for a sentence that Slack's body has complete; a longer one may be cut. */
const isShort = (sentence: string): boolean => sentence.length < 550;
const unescape = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

test("right-to-left text does not change the direction of the number next to it", () => {
  const sentence = describeWith(
    {},
    { summary: "שלום", proposer: "דנה", risk: "low", reversible: true, affected_users: 96 },
  );
  expect(sentence).toContain(
    ": \u2068דנה\u2069 proposes \u2068“שלום”\u2069 (limits.seats for tenant t1); reaches 96 people",
  );
});

test("without an address of the console the message has no button", () => {
  expect(JSON.parse(formatBody.slack(notification("It is.")))).toEqual({
    text: "It is.",
    blocks: [
      { type: "section", text: { type: "plain_text", text: "It is.", emoji: false } },
      {
        type: "context",
        elements: [{ type: "plain_text", text: "acme-crm@local · change.waiting_for_consent", emoji: false }],
      },
    ],
  });
  const [{ content }] = JSON.parse(formatBody.teams(notification("It is."))).attachments;
  expect(content).not.toHaveProperty("actions");
});
