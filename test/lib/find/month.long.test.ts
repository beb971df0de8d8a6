/** Queries over the scripted month: what they find is counted a second time from its ledger, by none of the service's code. */
import { beforeAll, describe, expect, test } from "vitest";
import { type LedgerChange } from "../../support/month/ledger.ts";
import { sharedMonth } from "../../support/month/month.ts";
import { computeFigures } from "../../support/month/figures.ts";
import { ANA, BO, CHEN, DANA, ERIN, GIL } from "../../support/month/people.ts";

const NOW = "2026-11-16T09:30:00.000Z";
const HOUR = 3600;
let month: Awaited<ReturnType<typeof sharedMonth>>;

/** One change by the ledger. */
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
  lacking: string[][];
  expires: string | undefined;
  /** Everything that was written of it, and the names of who did so. */
  text: string;
}
let all: Facts[];

const later = (at: string, hours: number): string => new Date(Date.parse(at) + hours * HOUR * 1000).toISOString();

function factsOf(reckoning: ReturnType<typeof computeFigures>, change: LedgerChange): Facts {
  const acts = reckoning.acts.filter((act) => act.change === change.name);
  const at = (...dids: string[]) => acts.filter(({ did }) => dids.includes(did)).map((act) => act.at);
  const consents = acts.filter(({ did }) => did === "approved");
  const proposed = at("proposed")[0]!;
  const approved = change.tier === "minor" ? proposed : consents.find(({ leaves }) => leaves === "approved")?.at;
  const decided = [approved, ...at("denied", "withdrawn", "revoked", "expired", "lapsed")].flatMap((one) => one ?? []);
  const emergency = consents.some((act) => act.emergency);
  const reviewDue = emergency && at("applied").length > 0 && at("reviewed").length === 0;
  const open = change.status === "pending_consent" || change.status === "approved";
  const since = change.status === "approved" ? approved! : proposed;
  const expires = open
    ? later(since, change.status === "approved" ? 240 : 120)
    : reviewDue
      ? later(consents.find((act) => act.emergency)!.at, 72)
      : undefined;
  const notes = acts.flatMap(({ did, text, by }) =>
    ["approved", "denied", "withdrawn", "revoked", "reviewed"].includes(did) ? [text ?? "", by ?? ""] : [],
  );
  const own = [change.summary, change.rationale ?? "", change.target, change.tenant, change.kpi ?? ""];
  return {
    ...change,
    proposed,
    decided,
    applied: at("applied")[0],
    rolledBack: at("rolled_back")[0],
    approvers: consents.map(({ by }) => by!),
    denier: acts.find(({ did }) => did === "denied")?.by ?? undefined,
    verdict: reckoning.computeOutcome(change.name)?.verdict,
    emergency,
    overdue: change.drifting || reviewDue || (open && Date.parse(NOW) - Date.parse(since) > 24 * HOUR * 1000),
    lacking: open ? reckoning.listMissingConsents(change) : [],
    expires,
    text: [...own, change.proposer, change.asked_by ?? "", ...notes].join("\n").toLowerCase(),
  };
}

beforeAll(async () => {
  month = await sharedMonth();
  const reckoning = computeFigures(month.ledger, NOW);
  all = reckoning.changes.map((change) => factsOf(reckoning, change));
});

// oxlint-disable-next-line no-explicit-any -- whatever the service answered
async function find(q: string, more: Record<string, string> = {}, by: string | null = GIL): Promise<any> {
  const { status, body } = await month.get(`/api/find?${new URLSearchParams({ q, limit: "100", ...more })}`, by);
  expect(status, `${q}: ${body.error}`).toBe(200);
  return body;
}
const idsIn = ({ rows }: { rows: { change_id: string }[] }): string[] => rows.map(({ change_id }) => change_id);
const named = ({ rows }: { rows: { change_id: string }[] }): string[] =>
  rows.map(({ change_id }) => all.find(({ id }) => id === change_id)!.name);
const within = (at: string | undefined, from: string, to: string): boolean =>
  at !== undefined && at.slice(0, 10) >= from && at.slice(0, 10) <= to;
const holds = (change: Facts, ...words: RegExp[]): boolean => words.every((word) => word.test(change.text));

/** A query and what it asks for, in terms of the ledger. */
const SETS: readonly (readonly [string, (change: Facts) => boolean])[] = [
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
  ["4000 mails", (change) => holds(change, /\b4000\b/, /\bmails?\b/)],
  ["seat limit", (change) => holds(change, /\bseats?\b/, /\blimits?\b/)],
  ['"quarter end"', () => false],
  ['"load test"', (change) => holds(change, /load test/)],
  ["spreadsheet importer", (change) => holds(change, /spreadsheet/, /importer/)],
  ["leads -tenant:t1", (change) => holds(change, /\bleads?\b/) && change.tenant !== "t1"],
  ["retr*", (change) => holds(change, /\bretr/)],
  ["90", (change) => holds(change, /\b90\b/)],
  ["9", (change) => holds(change, /\b9\b/)],
  ["-customers is:pending", (change) => !/\bcustomers?\b/.test(change.text) && change.status === "pending_consent"],
  ["plan:q4", () => false],
  ["-mandate:* kind:experiment", ({ kind }) => kind === "experiment"],
];

test("the table of queries has the required number of rows", () => expect(SETS.length).toBeGreaterThanOrEqual(60));

test.each(SETS)("%s finds what the ledger holds", async (query, wanted) => {
  const found = await find(query);
  const expected = all.filter(wanted).map(({ id }) => id);
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

  test("without a name is:waiting finds all pending changes, and is:mine is an error", async () => {
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
  const byKey = (key: (change: Facts) => number | string | undefined, ascending = false) =>
    all
      .filter((change) => key(change) !== undefined)
      .toSorted((a, b) => {
        const [left, right] = [key(a)!, key(b)!];
        if (left === right) return a.id > b.id ? -1 : 1;
        const isBefore = left < right;
        return isBefore === ascending ? -1 : 1;
      })
      .map(({ name }) => name);

  test("the newest proposals come first", async () => expect(named(await find(""))).toEqual(byKey(({ id }) => id)));

  test("sort:users begins with the widest reach and ends with changes that state none", async () => {
    const rows = named(await find("sort:users"));
    const stated = byKey(({ affected_users }) => affected_users ?? undefined);
    expect(rows.slice(0, stated.length)).toEqual(stated);
    expect(rows).toHaveLength(all.length);
  });

  test("sort:applied-asc begins with the first apply", async () => {
    const applied = byKey((change) => change.applied, true);
    expect(named(await find("sort:applied-asc")).slice(0, applied.length)).toEqual(applied);
  });

  test("free words rank the best match first", async () => {
    expect(named(await find("mails"))[0]).toBe("mail loop");
    expect(named(await find("digest mail"))).toEqual(["weekly digest"]);
  });
});

describe("groups", () => {
  const counts = (keys: (string | undefined)[]): Record<string, number> => {
    const counted: Record<string, number> = {};
    for (const key of keys) if (key !== undefined) counted[key] = (counted[key] ?? 0) + 1;
    return counted;
  };
  const groups = async (q: string, more = {}): Promise<Record<string, number>> =>
    Object.fromEntries(
      (await find(q, more)).groups.map(({ key, count }: { key: string; count: number }) => [key, count]),
    );

  test("group:tenant, group:proposer, group:kind and group:status count changes by that field", async () => {
    expect(await groups("group:tenant")).toEqual(counts(all.map(({ tenant }) => tenant)));
    expect(await groups("is:applied group:proposer")).toEqual(
      counts(all.filter(({ status }) => status === "applied").map(({ proposer }) => proposer)),
    );
    expect(await groups("group:kind")).toEqual(counts(all.map(({ kind }) => kind)));
    expect(await groups("group:status")).toEqual(counts(all.map(({ status }) => status)));
  });

  test("a change with two approvers counts with each", async () =>
    expect(await groups("group:approver")).toEqual(counts(all.flatMap(({ approvers }) => [...new Set(approvers)]))));

  test("group:verdict counts outcomes", async () =>
    expect(await groups("group:verdict")).toEqual(counts(all.map(({ verdict }) => verdict))));

  test("group:day uses the event to which the query's dates refer", async () => {
    expect(await groups("applied:2026-11 group:day")).toEqual(
      counts(all.map(({ applied }) => (applied?.startsWith("2026-11") ? applied.slice(0, 10) : undefined))),
    );
    expect(await groups("group:month")).toEqual(counts(all.map(({ proposed }) => proposed.slice(0, 7))));
  });

  test("weeks are ISO weeks", async () => {
    const week = (at: string) =>
      `2026-W${42 + Math.floor((Date.parse(at) - Date.parse("2026-10-12")) / (168 * HOUR * 1000))}`;
    expect(await groups("group:week")).toEqual(counts(all.map(({ proposed }) => week(proposed))));
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
    const { rows, median: middle, max } = await find(query);
    const measured = Object.fromEntries(
      rows.map((row: { change_id: string; seconds: number }) => [row.change_id, row.seconds]),
    );
    expect(measured).toEqual(Object.fromEntries(all.map((change) => [change.id, secondsOf(change)])));
    const known = all.map(secondsOf).filter((seconds) => seconds !== null);
    expect({ middle, max }).toEqual({ middle: median(known), max: Math.max(...known) });
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
])("%s is an error that names %s", async (q, meant) => {
  const { status, body } = await month.get(`/api/find?${new URLSearchParams({ q })}`);
  expect([status, body.code]).toEqual([400, "invalid_field"]);
  expect(body.error).toContain(`did you mean ${meant}`);
});

test("every saved question runs, and its normalised text is the same again", async () => {
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
