/** Verifies that both verifiers accept entries of mandates, and reject forged ones in a log with valid hashes. */
import { beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { openWithMandates } from "../../support/mandates.ts";
import { rehashed } from "../../tamper/world.ts";
import { judgeExports } from "./judge_export.ts";

type Detail = Record<string, unknown>;

let entries: AuditEntry[];
let judged: Awaited<ReturnType<typeof judgeExports>>;

/** Edits the details of an event. */
const edit = (event: string, change: (detail: Detail) => Detail): string => {
  const edited = entries.map((entry) =>
    entry.event_type === event
      ? { ...entry, detail: JSON.stringify(change(JSON.parse(entry.detail) as Detail)) }
      : entry,
  );
  return rehashed(edited, 0)
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("");
};

const boundsOf = ({ bounds }: Detail): Detail => bounds as Detail;
const STATEMENT = "its statement does not match the entry";
const FORGED: readonly (readonly [
  forgery: string,
  event: string,
  change: (detail: Detail) => Detail,
  message: string,
])[] = [
  ["a wider bound", "mandate_signed", (one) => ({ ...one, bounds: { ...boundsOf(one), max_per_day: 50 } }), STATEMENT],
  ["another agent", "mandate_signed", (one) => ({ ...one, bounds: { ...boundsOf(one), agent: "agent:x" } }), STATEMENT],
  ["another system", "mandate_signed", (one) => ({ ...one, systems: [] }), STATEMENT],
  ["another mandate", "mandate_signed", (one) => ({ ...one, mandate_id: "mdt_x" }), STATEMENT],
  ["a wider narrowing", "mandate_narrowed", (one) => ({ ...one, narrow: { max_per_day: 9 } }), STATEMENT],
  ["a resumption of another revision", "mandate_resumed", (one) => ({ ...one, revision: 2 }), STATEMENT],
  [
    "a signature that is missing",
    "mandate_resumed",
    ({ proof: _, statement: __, key: ___, ...one }) => one,
    ", but it has no signature",
  ],
];

beforeAll(async () => {
  // Languages write 1e21 and -1e-7 in different ways, but the signed statement has only one form.
  const limits = { schema: { type: "number", minimum: 0.5, maximum: 1e21 }, max_step: { relative: 0.05, hours: 24 } };
  const { activate, propose, apply, send, decideOn, api } = await openWithMandates();
  const id = await activate({ limits, kpi_floor: { csat: -1e-7 } });
  const { change_id } = (await propose()).body;
  await apply(change_id);
  // A rollback suspends the mandate.
  await send("rollback", { change_id, actor: "ana" });
  await decideOn("mandate_narrow", id, "ana", { narrow: { max_per_day: 3 } });
  await decideOn("mandate_resume", id, "ana");
  await decideOn("mandate_resume", id, "bo");
  await decideOn("mandate_revoke", id, "una");
  const { text } = await api.get("audit?format=jsonl");
  entries = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEntry);
  judged = await judgeExports([text, ...FORGED.map(([, event, change]) => edit(event, change))]);
});

test("an unforged mandate is accepted by both verifiers", () => {
  expect(judged[0]).toEqual({ typescript: [], python: [] });
});

test.each(FORGED.map(([name, , , message], index) => [name, message, index + 1] as const))(
  "%s is rejected by both verifiers",
  (_, message, index) => {
    const { typescript, python } = judged[index]!;
    expect(typescript[0]).toContain(message);
    expect(python).toEqual(typescript);
  },
);
