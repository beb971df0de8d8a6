/** Queries of the simulated month return what its ledger says; the expected results are computed without the service's code. */
import { beforeAll, describe, expect, test } from "vitest";
import { type LedgerChange } from "../../support/month/ledger.ts";
import { sharedMonth } from "../../support/month/month.ts";
import { computeFigures } from "../../support/month/figures.ts";
import { ANA, BO, CHEN, DANA, ERIN, GIL } from "../../support/month/people.ts";

const NOW = "2026-11-16T09:30:00.000Z";
const HOUR_MS = 3_600_000;
let month: Awaited<ReturnType<typeof sharedMonth>>;

/** A change of the ledger with its events. */
interface Facts extends LedgerChange {
  proposed: string;
  decided: string[];
  applied: string | undefined;
  rolledBack: string | undefined;
  approvers: string[];
  denier: string | undefined;
  verdict: string | undefined;
  emergency: boolean;
  overdue: boolean;
  /** For each missing consent, the people who may give it. */
  lacking: string[][];
  expires: string | undefined;
  /** All texts of the change and the names of their authors, in lower case. */
  text: string;
}
let all: Facts[];

const addHours = (at: string, hours: number): string => new Date(Date.parse(at) + hours * HOUR_MS).toISOString();

function buildFacts(figures: ReturnType<typeof computeFigures>, change: LedgerChange): Facts {
  const acts = figures.acts.filter((act) => act.change === change.name);
  const timesOf = (...dids: string[]) => acts.filter(({ did }) => dids.includes(did)).map((act) => act.at);
  const consents = acts.filter(({ did }) => did === "approved");
  const proposed = timesOf("proposed")[0]!;
  const approved = change.tier === "minor" ? proposed : consents.find(({ leaves }) => leaves === "approved")?.at;
  const ended = timesOf("denied", "withdrawn", "revoked", "expired", "lapsed");
  const decided = approved === undefined ? ended : [approved, ...ended];
  const emergency = consents.some((act) => act.emergency);
  const reviewDue = emergency && timesOf("applied").length > 0 && timesOf("reviewed").length === 0;
  const open = change.status === "pending_consent" || change.status === "approved";
  const since = change.status === "approved" ? approved! : proposed;
  // Hours of the month's intent: 120 for consent, 240 for the apply, 72 for a review.
  let expires: string | undefined;
  if (open) expires = addHours(since, change.status === "approved" ? 240 : 120);
  else if (reviewDue) expires = addHours(consents.find((act) => act.emergency)!.at, 72);
  const notes = acts.flatMap(({ did, text, by }) =>
    ["approved", "denied", "withdrawn", "revoked", "reviewed"].includes(did) ? [text ?? "", by ?? ""] : [],
  );
  const changeTexts = [change.summary, change.rationale ?? "", change.target, change.tenant, change.kpi ?? ""];
  return {
    ...change,
    proposed,
    decided,
    applied: timesOf("applied")[0],
    rolledBack: timesOf("rolled_back")[0],
    approvers: consents.map(({ by }) => by!),
    denier: acts.find(({ did }) => did === "denied")?.by ?? undefined,
    verdict: figures.computeOutcome(change.name)?.verdict,
    emergency,
    // N counts an open change as overdue after 24 hours.
    overdue: change.drifting || reviewDue || (open && Date.parse(NOW) - Date.parse(since) > 24 * HOUR_MS),
    lacking: open ? figures.listMissingConsents(change) : [],
    expires,
    text: [...changeTexts, change.proposer, change.asked_by ?? "", ...notes].join("\n").toLowerCase(),
  };
}

beforeAll(async () => {
  month = await sharedMonth();
  const figures = computeFigures(month.ledger, NOW);
  all = figures.changes.map((change) => buildFacts(figures, change));
});

// oxlint-disable-next-line no-explicit-any -- responses have no type
async function find(q: string, parameters: Record<string, string> = {}, by: string | null = GIL): Promise<any> {
  const { status, body } = await month.get(`/api/find?${new URLSearchParams({ q, limit: "100", ...parameters })}`, by);
  expect(status, `${q}: ${body.error}`).toBe(200);
  return body;
}
const idsIn = ({ rows }: { rows: { change_id: string }[] }): string[] => rows.map(({ change_id }) => change_id);
const namesIn = ({ rows }: { rows: { change_id: string }[] }): string[] =>
  rows.map(({ change_id }) => all.find(({ id }) => id === change_id)!.name);
const within = (at: string | undefined, from: string, to: string): boolean =>
  at !== undefined && at.slice(0, 10) >= from && at.slice(0, 10) <= to;
const hasWords = (change: Facts, ...words: RegExp[]): boolean => words.every((word) => word.test(change.text));

/** Queries, each with the condition that a change of the ledger must meet. */
const QUERIES: readonly (readonly [string, (change: Facts) => boolean])[] = [
  ["", () => true],
  ["is:pending", ({ status }) => status === "pending_consent"],
  ["is:PENDING_CONSENT", ({ status }) => status === "pending_consent"],
  ["is:approved", ({ status }) => status === "approved"],
  ["is:applied", ({ status }) => status === "applied"],
  ["is:rolled-back", ({ status }) => status === "rolled_back"],
  ["is:denied", ({ status }) => status === "denied"],
  ["is:pending,approved", ({ status }) => status === "pending_consent" || status === "approved"],
  ["-is:applied", ({ status }) => status !== "applied"],
  ["-is:denied -is:rolled_back", ({ status }) => status !== "denied" && status !== "rolled_back"],
  ["is:emergency", ({ emergency }) => emergency],
  ["is:drifted", ({ drifting }) => drifting],
  ["is:minor", ({ tier }) => tier === "minor"],
  ["is:automatic", ({ tier }) => tier === "minor"],
  ["is:overdue", ({ overdue }) => overdue],
  ["tenant:northwind", ({ tenant }) => tenant === "northwind"],
  ["-tenant:t1", ({ tenant }) => tenant !== "t1"],
  ["tenant:t1,globex is:applied", ({ tenant, status }) => /t1|globex/.test(tenant) && status === "applied"],
  ["target:limits.*", ({ target }) => target.startsWith("limits.")],
  ["target:*.BANNER", ({ target }) => target.endsWith(".banner")],
  ["target:mail.digest", ({ target }) => target === "mail.digest"],
  ["kind:experiment", ({ kind }) => kind === "experiment"],
  ["kind:code_patch", ({ kind }) => kind === "code_patch"],
  ["risk:high", ({ risk }) => risk === "high"],
  ["risk:medium", ({ risk }) => risk === "medium"],
  ["-risk:low,high", ({ risk }) => risk === "medium"],
  ["risk:high is:applied", ({ risk, status }) => risk === "high" && status === "applied"],
  ["tier:major", ({ tier }) => tier === "major"],
  [`proposer:${DANA}`, ({ proposer }) => proposer === DANA],
  [`proposer:"${DANA.toUpperCase()}"`, ({ proposer }) => proposer === DANA],
  [`approver:${ANA}`, ({ approvers }) => approvers.includes(ANA)],
  [`approver:${ANA} approver:${CHEN}`, ({ approvers }) => approvers.includes(ANA) && approvers.includes(CHEN)],
  ["approver:ana approver:Chen", ({ approvers }) => approvers.includes(ANA) && approvers.includes(CHEN)],
  ["proposer:pricing", ({ proposer }) => proposer === "agent:pricing"],
  [`approver:${ERIN}`, ({ approvers }) => approvers.includes(ERIN)],
  [`-approver:${BO} is:applied`, ({ approvers, status }) => !approvers.includes(BO) && status === "applied"],
  [`denied-by:${BO}`, ({ denier }) => denier === BO],
  [`denied-by:${ANA},${ERIN}`, ({ denier }) => denier === ANA || denier === ERIN],
  ["by:agents", ({ proposer }) => proposer.startsWith("agent:")],
  ["by:models", ({ proposer }) => proposer.startsWith("llm:")],
  ["by:agent,model", ({ proposer }) => /^(?:agent|llm):/.test(proposer)],
  ["agent:agent:pricing", ({ proposer }) => proposer === "agent:pricing"],
  ["users:>5000", ({ affected_users: users }) => users !== null && users > 5000],
  ["users:<400", ({ affected_users: users }) => users !== null && users < 400],
  ["users:300..1200", ({ affected_users: users }) => users !== null && users >= 300 && users <= 1200],
  ["users:5000,>10000", ({ affected_users: users }) => users !== null && (users === 5000 || users > 10_000)],
  ["short_form", ({ target }) => target === "signup.short_form"],
  ["short-form", ({ target }) => target === "signup.short_form"],
  ["signup.short", ({ target }) => target === "signup.short_form"],
  ["form_short", () => false],
  ["users:5000", ({ affected_users: users }) => users === 5000],
  ["-users:*", ({ affected_users: users }) => users === null],
  ["gain:>0.01", ({ expected }) => expected !== null && expected > 0.01],
  ["gain:..0.01", ({ expected }) => expected !== null && expected <= 0.01],
  ["kpi:csat", ({ kpi }) => kpi === "csat"],
  ["-kpi:* is:applied", ({ kpi, status }) => kpi === null && status === "applied"],
  ["verdict:met", ({ verdict }) => verdict === "met"],
  ["verdict:missed,regressed", ({ verdict }) => verdict === "missed" || verdict === "regressed"],
  ["verdict:*", ({ verdict }) => verdict !== undefined],
  ["reversible:no", ({ reversible }) => !reversible],
  ["reason:absent", ({ rationale }) => rationale === null],
  ["-reason:present is:denied", ({ rationale, status }) => rationale === null && status === "denied"],
  ["resolution:expired,lapsed", ({ ended }) => ended === "expired" || ended === "lapsed"],
  ["resolution:withdrawn", ({ ended }) => ended === "withdrawn"],
  ["proposed:2026-10", ({ proposed }) => proposed.startsWith("2026-10")],
  ["proposed:2026-W43", ({ proposed }) => within(proposed, "2026-10-19", "2026-10-25")],
  ["proposed:>2026-11-12", ({ proposed }) => proposed > "2026-11-13"],
  ["applied:last-week", ({ applied }) => within(applied, "2026-11-09", "2026-11-15")],
  ["applied:2026-11-01..2026-11-07", ({ applied }) => within(applied, "2026-11-01", "2026-11-07")],
  ["-applied:*", ({ applied }) => applied === undefined],
  ["rolledback:2026-10", ({ rolledBack }) => rolledBack?.startsWith("2026-10") === true],
  ["decided:2026-11-09", ({ decided }) => decided.some((at) => within(at, "2026-11-09", "2026-11-09"))],
  ["decided:last-month", ({ decided }) => decided.some((at) => at.startsWith("2026-10"))],
  ["expires:tomorrow", ({ expires }) => within(expires, "2026-11-17", "2026-11-17")],
  ["expires:<2026-11-19", ({ expires }) => expires !== undefined && expires < "2026-11-19"],
  ["4000 mails", (change) => hasWords(change, /\b4000\b/, /\bmails?\b/)],
  ["seat limit", (change) => hasWords(change, /\bseats?\b/, /\blimits?\b/)],
  // These words are the note of a freeze, which is no text of a change.
  ['"quarter end"', () => false],
  ['"load test"', (change) => hasWords(change, /load test/)],
  ["spreadsheet importer", (change) => hasWords(change, /spreadsheet/, /importer/)],
  ["leads -tenant:t1", (change) => hasWords(change, /\bleads?\b/) && change.tenant !== "t1"],
  ["retr*", (change) => hasWords(change, /\bretr/)],
  ["90", (change) => hasWords(change, /\b90\b/)],
  ["9", (change) => hasWords(change, /\b9\b/)],
  ["-customers is:pending", (change) => !/\bcustomers?\b/.test(change.text) && change.status === "pending_consent"],
  ["plan:q4", () => false],
  ["-mandate:* kind:experiment", ({ kind }) => kind === "experiment"],
];

test("the table has at least 60 queries", () => expect(QUERIES.length).toBeGreaterThanOrEqual(60));

test.each(QUERIES)("%s returns the changes of the ledger that match", async (query, isMatch) => {
  const found = await find(query);
  const expected = all.filter(isMatch).map(({ id }) => id);
  expect(idsIn(found).sort()).toEqual(expected.sort());
  expect([found.total, found.next]).toEqual([expected.length, null]);
});

describe("the caller", () => {
  test.each([ANA, BO, CHEN, DANA, ERIN, GIL])(
    "is:waiting finds the changes that wait for the consent of %s",
    async (person) => {
      const expected = all.filter(({ lacking }) => lacking.some((names) => names.includes(person))).map(({ id }) => id);
      expect(idsIn(await find("is:waiting", {}, person)).sort()).toEqual(expected.sort());
    },
  );

  test("without a name is:waiting finds all changes that lack a consent, and is:mine is an error", async () => {
    const expected = all.filter(({ lacking }) => lacking.length > 0).map(({ id }) => id);
    expect(idsIn(await find("is:waiting", {}, null)).sort()).toEqual(expected.sort());
    expect(await month.get("/api/find?q=is:mine", null)).toMatchObject({
      status: 400,
      body: { code: "invalid_field" },
    });
  });

  test("is:mine finds the caller's proposals", async () => {
    expect(idsIn(await find("is:mine", {}, DANA)).sort()).toEqual(
      all
        .filter(({ proposer }) => proposer === DANA)
        .map(({ id }) => id)
        .sort(),
    );
    expect((await find("is:mine")).total).toBe(0);
  });
});

describe("order", () => {
  /** Returns the names of the changes that have a key, the largest first unless `ascending`, and the newest first for equal keys. */
  const sortNames = (key: (change: Facts) => number | string | undefined, ascending = false) =>
    all
      .filter((change) => key(change) !== undefined)
      .toSorted((a, b) => {
        const [left, right] = [key(a)!, key(b)!];
        if (left === right) return a.id > b.id ? -1 : 1;
        const isLess = left < right;
        return isLess === ascending ? -1 : 1;
      })
      .map(({ name }) => name);

  test("the newest proposals come first", async () =>
    expect(namesIn(await find(""))).toEqual(sortNames(({ id }) => id)));

  test("sort:users begins with the most users and ends with changes without a number of users", async () => {
    const rows = namesIn(await find("sort:users"));
    const stated = sortNames(({ affected_users }) => affected_users ?? undefined);
    expect(rows.slice(0, stated.length)).toEqual(stated);
    expect(rows).toHaveLength(all.length);
  });

  test("sort:applied-asc begins with the first apply", async () => {
    const applied = sortNames((change) => change.applied, true);
    expect(namesIn(await find("sort:applied-asc")).slice(0, applied.length)).toEqual(applied);
  });

  test("free words rank the best match first", async () => {
    expect(namesIn(await find("mails"))[0]).toBe("mail loop");
    expect(namesIn(await find("digest mail"))).toEqual(["weekly digest"]);
  });
});

describe("groups", () => {
  const counts = (keys: (string | undefined)[]): Record<string, number> => {
    const countByKey: Record<string, number> = {};
    for (const key of keys) if (key !== undefined) countByKey[key] = (countByKey[key] ?? 0) + 1;
    return countByKey;
  };
  const findGroups = async (q: string): Promise<Record<string, number>> =>
    Object.fromEntries((await find(q)).groups.map(({ key, count }: { key: string; count: number }) => [key, count]));

  test("group:tenant, group:proposer, group:kind and group:status count changes by that field", async () => {
    expect(await findGroups("group:tenant")).toEqual(counts(all.map(({ tenant }) => tenant)));
    expect(await findGroups("is:applied group:proposer")).toEqual(
      counts(all.filter(({ status }) => status === "applied").map(({ proposer }) => proposer)),
    );
    expect(await findGroups("group:kind")).toEqual(counts(all.map(({ kind }) => kind)));
    expect(await findGroups("group:status")).toEqual(counts(all.map(({ status }) => status)));
  });

  test("a change with two approvers is counted for each of them", async () =>
    expect(await findGroups("group:approver")).toEqual(
      counts(all.flatMap(({ approvers }) => [...new Set(approvers)])),
    ));

  test("group:verdict counts outcomes", async () =>
    expect(await findGroups("group:verdict")).toEqual(counts(all.map(({ verdict }) => verdict))));

  test("group:day uses the event to which the query's dates refer", async () => {
    expect(await findGroups("applied:2026-11 group:day")).toEqual(
      counts(all.map(({ applied }) => (applied?.startsWith("2026-11") ? applied.slice(0, 10) : undefined))),
    );
    expect(await findGroups("group:month")).toEqual(counts(all.map(({ proposed }) => proposed.slice(0, 7))));
  });

  test("weeks are ISO weeks", async () => {
    // Week 42 of 2026 begins on Monday 12 October.
    const week = (at: string) =>
      `2026-W${42 + Math.floor((Date.parse(at) - Date.parse("2026-10-12")) / (168 * HOUR_MS))}`;
    expect(await findGroups("group:week")).toEqual(counts(all.map(({ proposed }) => week(proposed))));
  });
});

describe("time", () => {
  const secondsBetween = (from: string | undefined, to: string | undefined) =>
    from === undefined || to === undefined ? null : (Date.parse(to) - Date.parse(from)) / 1000;
  const median = (values: number[]) => {
    const sorted = values.toSorted((a, b) => a - b);
    return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
  };

  test.each([
    ["time:proposed-applied", ({ proposed, applied }: Facts) => secondsBetween(proposed, applied)],
    ["time:proposed-decided", ({ proposed, decided }: Facts) => secondsBetween(proposed, decided[0])],
    ["time:applied-rolledback", ({ applied, rolledBack }: Facts) => secondsBetween(applied, rolledBack)],
  ])("%s returns the duration of each row, the median and the longest", async (query, secondsOf) => {
    const { rows, timed, median: medianSeconds, max } = await find(query);
    const secondsByChange = Object.fromEntries(
      rows.map((row: { change_id: string; seconds: number }) => [row.change_id, row.seconds]),
    );
    expect(secondsByChange).toEqual(Object.fromEntries(all.map((change) => [change.id, secondsOf(change)])));
    const durations = all.map(secondsOf).filter((seconds) => seconds !== null);
    expect([timed, medianSeconds, max]).toEqual([durations.length, median(durations), Math.max(...durations)]);
  });

  test("sort:time begins with the longest", async () => {
    const { rows } = await find("is:applied time:proposed-applied sort:time");
    const seconds = rows.map((row: { seconds: number }) => row.seconds);
    expect(seconds).toEqual(seconds.toSorted((a: number, b: number) => b - a));
  });
});

test("pages contain every row once, in the order of a single page", async () => {
  for (const q of ["", "sort:users-asc", "customers", "is:applied time:proposed-applied sort:time"]) {
    const complete = idsIn(await find(q));
    const paged: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await find(q, { limit: "2", ...(after && { after }) });
      expect(page.total).toBe(complete.length);
      paged.push(...idsIn(page));
      if (page.next === null) break;
      after = page.next;
    }
    expect(paged, q).toEqual(complete);
  }
});

test("days are those of the caller's time zone", async () => {
  // Banner was proposed on 13 October at 9:30 UTC, the evening of 12 October in Honolulu.
  const banner = all.find(({ name }) => name === "banner")!;
  expect(idsIn(await find("proposed:2026-10-12", { tz: "Pacific/Honolulu" }))).toContain(banner.id);
  expect(idsIn(await find("proposed:2026-10-12"))).not.toContain(banner.id);
  expect((await month.get("/api/find?tz=Mars/Base")).status).toBe(400);
});

test.each([
  ["tennant:t1", "tenant:"],
  ["statuss:applied", "status:"],
  ["is:aplied", "applied"],
  ["risk:hihg", "high"],
  ["tenant:northwnd", "northwind"],
  ["tenant:north", "northwind"],
  ["is:expired", "resolution:expired"],
  [`approver:an@acme.example`, ANA],
  ["kpi:csta", "csat"],
  ["group:tennant", "tenant"],
  ["time:proposed-aplied", "proposed-applied"],
  ["sort:user", "users"],
])("%s is an error that suggests %s", async (q, suggestion) => {
  const { status, body } = await month.get(`/api/find?${new URLSearchParams({ q })}`);
  expect([status, body.code]).toEqual([400, "invalid_field"]);
  expect(body.error).toContain(`did you mean ${suggestion}`);
});

test("every saved question runs, and its normalised text is normalised to itself", async () => {
  const { saved, fields } = (await month.get("/api/find/saved")).body;
  expect(saved.length).toBeGreaterThanOrEqual(15);
  for (const { query, title } of saved) {
    expect(title.en && title.zh).toBeTruthy();
    const found = await find(query, {}, ANA);
    expect((await find(found.query, {}, ANA)).query).toBe(found.query);
  }
  const values = Object.fromEntries(
    fields.map((field: { field: string; values: string[] }) => [field.field, field.values]),
  );
  expect(values.tenant.sort()).toEqual([...new Set(all.map(({ tenant }) => tenant))].sort());
  expect(values.is).toContain("drifted");
  expect(values.plan).toEqual([]);
});
