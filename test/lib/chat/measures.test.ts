/** What chat measures of changes, reckoned a second way from the ledger of the month. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "../../support/month/acts.ts";
import { type Act, actsOn, type LedgerChange } from "../../support/month/ledger.ts";
import { simulatedMonth } from "../../support/month/month.ts";

let month: Month;
let changes: LedgerChange[];
beforeAll(async () => {
  month = await simulatedMonth();
  changes = [...month.ledger.changes.values()];
});

const ask = async (question: string): Promise<string> => (await month.ask(question)).reply.text;
const time = (name: string, is: (act: Act) => boolean): number | undefined => {
  const at = actsOn(month.ledger, name).find(is)?.at;
  return at === undefined ? undefined : Date.parse(at);
};
/** From one act on a change to another, in words. */
function between(name: string, first: (act: Act) => boolean, last: (act: Act) => boolean): string | undefined {
  const [from, to] = [time(name, first), time(name, last)];
  if (from === undefined || to === undefined) return undefined;
  const minutes = (to - from) / 60_000;
  const parts: [number, string][] = [
    [Math.floor(minutes / 1440), Math.floor(minutes / 1440) === 1 ? "day" : "days"],
    [Math.floor((minutes % 1440) / 60), "h"],
    [minutes % 60, "min"],
  ];
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count} ${unit}`] : [])).join(" ");
}
const proposed = ({ did }: Act): boolean => did === "proposed";
const approved = ({ did, leaves }: Act): boolean => did === "approved" && leaves === "approved";
const applied = ({ did }: Act): boolean => did === "applied";

test("how long each change took", async () => {
  for (const { name, target, tier } of changes) {
    const text = await ask(`How long did ${target} take?`);
    const whole = between(name, proposed, applied);
    if (whole) expect(text, name).toContain(`${whole} from its proposal to its apply`);
    else expect(text, name).not.toContain("from its proposal to its apply");
    const decision = between(name, proposed, approved);
    if (decision && tier !== "minor") expect(text, name).toContain(`${decision} from its proposal to the decision`);
  }
});

test("how many people each change affects", async () => {
  for (const { name, target, affected_users: users } of changes)
    expect(await ask(`How many people does ${target} affect?`), name).toContain(
      users === null ? "How many people it affects was not stated." : `It affects ${users} people`,
    );
});

test("how many attempts each apply took", async () => {
  for (const { name, target } of changes) {
    const tried = actsOn(month.ledger, name).filter(({ did }) => did === "applied" || did === "apply_failed").length;
    expect(await ask(`How many attempts did the apply of ${target} take?`), name).toContain(
      tried === 0 ? "Nobody has tried to apply it." : `Attempts to apply it: ${tried}`,
    );
  }
});

test.each(["most", "least"])("the changes that affect the %s people, and no others before them", async (order) => {
  const stated = changes.filter(({ affected_users }) => affected_users !== null);
  stated.sort((a, b) => (order === "most" ? -1 : 1) * (a.affected_users! - b.affected_users!));
  const text = await ask(
    order === "most" ? "Which changes touch the most people?" : "Which changes touch the fewest people?",
  );
  expect(text.match(/\d+(?= people affected)/g)).toEqual(stated.slice(0, 3).map((one) => String(one.affected_users)));
  expect(text).toContain(`on record for ${stated.length} of ${changes.length}`);
});

test("more people than a number", async () => {
  const ids = (await ask("Which changes affect more than 1,200 users?")).match(/chg_[\w-]+/g);
  const more = changes.filter(({ affected_users }) => (affected_users ?? 0) > 1200);
  expect(new Set(ids)).toEqual(new Set(more.map(({ id }) => id)));
});
