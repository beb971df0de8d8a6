/** Random hostile proposals against schemas and step limits, checked by a second implementation of these rules. */
import { expect } from "vitest";
import { memoryStore } from "../../lib/store/memory.ts";
import { HOUR, testClock } from "./clock.ts";
import { type Core, makeCore } from "./core.ts";
import { openDeps, restartDeps } from "./deps.ts";
import { seededIntegers } from "./seeded_integers.ts";

type Random = ReturnType<typeof seededIntegers>;

/** A rule of the intent, and functions that implement it a second time. */
interface Rule {
  target: string;
  policyLimits: object;
  matchesSchema(value: unknown): boolean;
  hours: number;
  readNumber(value: unknown): unknown;
  toValue(number: unknown): unknown;
  exceedsStep(number: Fraction, base: Fraction): boolean;
}

/** A number as a fraction of integers. */
type Fraction = readonly [bigint, bigint];

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  Object.prototype.toString.call(value) === "[object Object]";
const isNumber = (value: unknown): value is number => typeof value === "number";
const identity = <T>(value: T): T => value;

/** Returns the exact fraction of a number's decimal text. */
function fraction(number: number): Fraction {
  const [, sign, whole, decimals = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(`${number}`)!;
  const shift = Number(exponent) - decimals.length;
  const digits = BigInt(`${sign}${whole}${decimals}`);
  return shift < 0 ? [digits, 10n ** BigInt(-shift)] : [digits * 10n ** BigInt(shift), 1n];
}
const distance = ([a, b]: Fraction, [c, d]: Fraction): Fraction => {
  const difference = a * d - c * b;
  return [difference < 0n ? -difference : difference, b * d];
};
const isMore = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d > c * b;
const scaled = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [(a < 0n ? -a : a) * c, b * d];
/** Returns a check that a number differs from its base by more than `limit` times the base, as every number does from 0. */
const relative =
  (limit: Fraction) =>
  (number: Fraction, base: Fraction): boolean =>
    base[0] === 0n || isMore(distance(number, base), scaled(base, limit));

const RULES: readonly Rule[] = [
  {
    target: "price.pro",
    policyLimits: { max_step: { relative: 0.05 } },
    matchesSchema: isNumber,
    hours: 24,
    readNumber: identity,
    toValue: identity,
    exceedsStep: relative([5n, 100n]),
  },
  {
    target: "rate.a",
    policyLimits: {
      schema: { type: "number", exclusiveMinimum: 0, maximum: 3, multipleOf: 0.1 },
      max_step: { relative: 0.5, hours: 5 },
    },
    matchesSchema: (value) => isNumber(value) && value > 0 && value <= 3 && isTenths(value),
    hours: 5,
    readNumber: identity,
    toValue: identity,
    exceedsStep: relative([5n, 10n]),
  },
  {
    target: "limits/x",
    policyLimits: {
      schema: {
        type: "object",
        properties: {
          limits: { type: "object", properties: { seats: { type: "integer", minimum: 1 } }, required: ["seats"] },
          tags: {
            type: "array",
            items: { type: "string", maxLength: 3, pattern: "^[a-z]{1,3}$" },
            maxItems: 3,
            uniqueItems: true,
          },
        },
        required: ["limits"],
        additionalProperties: false,
      },
      max_step: { absolute: 5, members: ["limits.seats"], hours: 30 },
    },
    matchesSchema: (value) =>
      isPlainObject(value) &&
      isPlainObject(value["limits"]) &&
      Object.getOwnPropertyNames(value).every((name) => name === "limits" || name === "tags") &&
      Number.isInteger(Object.getOwnPropertyDescriptor(value["limits"], "seats")?.value) &&
      (value["limits"]["seats"] as number) >= 1 &&
      (!Object.hasOwn(value, "tags") || areTags(value["tags"])),
    hours: 30,
    readNumber: (value) => (value as { limits: { seats: unknown } }).limits.seats,
    toValue: (number) => ({ limits: { seats: number } }),
    exceedsStep: (number, base) => isMore(distance(number, base), [5n, 1n]),
  },
];

const isTenths = (value: number): boolean => {
  const [a, b] = fraction(value);
  return (a * 10n) % b === 0n;
};
const areTags = (tags: unknown): boolean =>
  Array.isArray(tags) &&
  tags.length <= 3 &&
  new Set(tags).size === tags.length &&
  tags.every((tag) => typeof tag === "string" && /^[a-z][a-z]?[a-z]?$/.test(tag));

/** Hostile texts that are sent as the value of any target. */
const TEXTS = [
  "NaN", "Infinity", "-Infinity", "1e999", "0x10", "01", "+5", ".5", "5.", "1_000", "1e5e5", "", " ", "null", "true",
  '"NaN"', '"105"', '"１０５"', '"١٠٥"', "[105]", "[]", "{}", '{"valueOf":105}', '{"__proto__":{"seats":5}}', "-0", "0",
  "0.30000000000000004", "0.3", "1e308", "-1e308", "1.7976931348623157e308", "5e-324", "9007199254740991",
  "9007199254740993", "123456789012345678901234567890", "1.05e2", "1E2", "100.00000000000000000001", "1e-7", "2.9999999999999996",
  '{"limits":{"seats":"5"}}', '{"limits":[5]}', '{"limits":{"__proto__":{"seats":5}}}', '{"limits":{"seats":5},"__proto__":{"x":1}}',
  '{"limits":{"seats":5,"seats":500}}', '{"limits":{"seats":5},"constructor":1}', '{"limits":{"seats":1e3}}', '{"limits":{"seats":5.0}}',
  '{"limits":{"seats":-0}}', '{"limits":{"seats":5},"tags":["a","a"]}', '{"limits":{"seats":5},"tags":["a","b"]}',
  '{"limits":{"seats":5},"tags":["a\\u0000"]}', '{"limits":{"seats":5},"tags":{"0":"a","length":1}}', '{"limits.seats":5}',
  '{"limits":{"seats":9007199254740992}}', '[{"limits":{"seats":5}}]', '{"Limits":{"seats":5}}', '{"limits":{"seats":5},"toString":1}',
]; // prettier-ignore

/** An apply or rollback of a target in the log. */
interface Event {
  at: number;
  change_id: string;
  kind: "applied" | "rolled_back";
}

const EVENT_KINDS: Readonly<Record<string, Event["kind"]>> = {
  change_applied: "applied",
  change_rolled_back: "rolled_back",
};

interface State {
  random: Random;
  /** Two processes on one store. */
  clients: Core[];
  /** The value of each change by its id. */
  values: Map<string, unknown>;
  /** Applies and rollbacks by target key, in chain order. */
  events: Map<string, Event[]>;
  /** The id of the last entry that was read, and its time. */
  lastEntryId: number;
  lastEntryMs: number;
  counts: { proposed: number; allowed: number; applied: number };
}

const findRule = (target: string): Rule => RULES.find((rule) => rule.target === target.toLowerCase())!;
const targetKey = (tenant: string, target: string): string => `${tenant} ${target.toLowerCase()}`;

/**
 * Returns the number from which a step is measured: that of the change in force `hours` ago, otherwise of the last change that
 * was applied before then, otherwise of the first that was applied since.
 */
function findBase({ values, events }: State, key: string, rule: Rule, now: number): number | undefined {
  const all = events.get(key) ?? [];
  const since = now - rule.hours * HOUR;
  const before = all.filter(({ at }) => at < since);
  const isRolledBack = (id: string, list: readonly Event[]) =>
    list.some((event) => event.change_id === id && event.kind === "rolled_back");
  const listApplied = (list: readonly Event[]) =>
    list.filter(({ kind }) => kind === "applied").map(({ change_id }) => change_id);
  const inForce = listApplied(before).findLast((id) => !isRolledBack(id, before));
  const id = inForce ?? listApplied(before).at(-1) ?? listApplied(all.slice(before.length))[0];
  return id === undefined ? undefined : (rule.readNumber(values.get(id)) as number);
}

/** Returns whether a value matches the schema and the step limit at a moment. */
function isAllowed(state: State, key: string, value: unknown, now: number): boolean {
  const rule = findRule(key.split(" ")[1]!);
  if (!rule.matchesSchema(value)) return false;
  const base = findBase(state, key, rule, now);
  return base === undefined || !rule.exceedsStep(fraction(rule.readNumber(value) as number), fraction(base));
}

/** Returns the text of a value near the limits of its target, or any hostile text. */
function randomText(state: State, key: string, rule: Rule): string {
  const { random } = state;
  if (random(4) === 0) return TEXTS[random(TEXTS.length)]!;
  const now = state.clients[0]!.deps.clock.now();
  const base = findBase(state, key, rule, now) ?? [100, 0.3, 5, 1e308, -3, 1e-9][random(6)]!;
  const edges = [0.95, 1.05, 0.5, 1.5, 1.0500000001, 0.9499999999, 1, 1.01, 0.99, 1.049, 2, -1];
  const near = [base * edges[random(edges.length)]!, base + random(13) - 6, base + (random(3) - 1) / 10];
  let number = near[random(near.length)]!;
  if (random(3) === 0) number = Number(number.toPrecision(2));
  if (rule.target === "limits/x" && random(4) > 0) number = Math.round(number);
  if (rule.target === "rate.a" && random(4) > 0) number = Number(number.toFixed(1));
  const text = JSON.stringify(rule.toValue(number));
  // Another spelling of the same number.
  return random(5) === 0 ? text.replace(/(-?\d+)(?![.\d])(?=\D*$)/, "$1.0") : text;
}

const TENANTS = ["t1", "t2"];
const SPELLINGS = ["price.pro", "PRICE.PRO", "Price.pro", "rate.a", "RATE.A", "limits/x", "Limits/X"];

async function propose(state: State): Promise<string | undefined> {
  const { random, clients } = state;
  const target = SPELLINGS[random(SPELLINGS.length)]!;
  const tenant_id = TENANTS[random(2)]!;
  const key = targetKey(tenant_id, target);
  const text = randomText(state, key, findRule(target));
  const api = clients[random(clients.length)]!;
  const minor = random(2) === 0 ? { tier: "minor", affected_users: 1, risk: "low" } : {};
  const fields = { tenant_id, target, kind: "config", summary: "s", reversible: true, value: text, ...minor };
  state.counts.proposed++;
  const { status, body } = await api.post("propose", fields);
  if (status === 201) {
    state.values.set(body.change_id, body.value);
    state.counts.allowed++;
    if (body.status === "pending_consent") await api.post("approve", { change_id: body.change_id, approver: "ana" });
    return body.change_id as string;
  }
  expect(status, text).toBe(400);
  return undefined;
}

/** Reads new entries of the log, and checks each apply against the rules at its time. */
async function checkNewEntries(state: State): Promise<void> {
  const entries = await state.clients[0]!.audit(`?limit=1000&after=${state.lastEntryId}`);
  for (const { id, event_type, change_id, tenant, timestamp, detail } of entries) {
    if (id <= state.lastEntryId) continue;
    state.lastEntryId = id;
    state.lastEntryMs = Date.parse(timestamp);
    const kind = EVENT_KINDS[event_type];
    if (!kind) continue;
    const key = targetKey(tenant, (JSON.parse(detail) as { target: string }).target);
    const at = Date.parse(timestamp);
    const value = state.values.get(change_id);
    if (kind === "applied") {
      state.counts.applied++;
      expect(isAllowed(state, key, value, at), `entry ${id}: ${JSON.stringify(value)} at ${key}`).toBe(true);
    }
    state.events.set(key, [...(state.events.get(key) ?? []), { at, change_id, kind }]);
  }
}

/** Sends a single proposal and requires the result that the second implementation computes. */
async function proposeAlone(state: State): Promise<void> {
  const { post } = state.clients[0]!;
  let sent: Record<string, unknown> = {};
  const api: Core = {
    ...state.clients[0]!,
    post: (path, fields, headers) => {
      if (path === "propose") sent = fields as Record<string, unknown>;
      return post(path, fields, headers);
    },
  };
  const change_id = await propose({ ...state, clients: [api] });
  const key = targetKey(String(sent["tenant_id"]), String(sent["target"]));
  // The time of the service: its clock, but never before the last entry.
  const now = Math.max(api.deps.clock.now(), state.lastEntryMs);
  if (change_id !== undefined)
    expect(isAllowed(state, key, state.values.get(change_id), now), JSON.stringify(sent)).toBe(true);
  else if (isExactJson(String(sent["value"])))
    expect(isAllowed(state, key, JSON.parse(String(sent["value"])), now), JSON.stringify(sent)).toBe(false);
  if (change_id !== undefined && state.random(2) === 0) await api.post("apply", { change_id });
}

/**
 * Returns whether the service accepts a text as JSON: without repeated members or numbers that a double cannot represent. The
 * pattern recognizes only those of the texts in this file.
 */
function isExactJson(text: string): boolean {
  try {
    JSON.parse(text);
    return !/"seats":\d+,"seats"|\d{17}|9007199254740993|e999|\.0{5}/.test(text);
  } catch {
    return false;
  }
}

/** Sends hostile proposals, alone and concurrently, while clocks are set, changes rolled back and services restarted. */
export async function sendHostileProposals(seed: number, proposals: number): Promise<State["counts"]> {
  const random = seededIntegers(seed * 7919);
  const clock = testClock();
  const policy = {
    targets: RULES.map(({ target, policyLimits }) => ({ match: [target], ...policyLimits })),
    minor: { kinds: ["config"], targets: ["*"] },
  };
  const intent = { policy };
  const first = await openDeps({ store: memoryStore(), clock, intent, owner: "one" });
  const second = await restartDeps(first, { intent, owner: "two" });
  const counts = { proposed: 0, allowed: 0, applied: 0 };
  const state: State = {
    random,
    clients: [first, second].map(makeCore),
    values: new Map(),
    events: new Map(),
    lastEntryId: 0,
    lastEntryMs: 0,
    counts,
  };
  const approvedIds: string[] = [];
  while (counts.proposed < proposals) {
    const action = random(12);
    if (action < 5) await proposeAlone(state);
    else if (action < 8) {
      const proposed = await Promise.all(Array.from({ length: 2 + random(5) }, () => propose(state)));
      approvedIds.push(...proposed.filter((id) => id !== undefined));
      const chosen = Array.from({ length: random(6) }, () => approvedIds[random(approvedIds.length)]).filter(identity);
      await Promise.all(chosen.map((change_id) => state.clients[random(2)]!.post("apply", { change_id: change_id! })));
    } else if (action < 10) clock.advance(random(4) === 0 ? random(40) * HOUR : random(HOUR));
    else if (action === 10) {
      const applied = [...state.events.values()].flat().filter(({ kind }) => kind === "applied");
      const event = applied[random(applied.length)];
      if (event && random(3) === 0) await state.clients[random(2)]!.post("rollback", { change_id: event.change_id });
    } else if (random(4) === 0) clock.shift((random(2) === 0 ? -1 : 1) * random(20) * HOUR);
    else if (random(10) === 0)
      state.clients = [makeCore(await restartDeps(state.clients[1]!.deps, { intent })), state.clients[0]!];
    await checkNewEntries(state);
    // The service rejects every proposal while its clock is more than a day behind the log.
    if (state.lastEntryMs - clock.now() > 24 * HOUR) clock.shift(state.lastEntryMs - clock.now());
  }
  return counts;
}
