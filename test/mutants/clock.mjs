/** A clock that is wrong: what it must not end, what it must not hold up, and the way back. */

const CERTAIN = ["test/lib/changes/certain_time.test.ts"];
const ACCEPT = ["test/lib/changes/accept_clock.test.ts"];
const certain = { file: "lib/changes/certain_time.ts", tests: CERTAIN };
const accept = { file: "lib/changes/commands/accept_clock.ts", tests: ACCEPT };

export const clock = [
  {
    ...certain,
    name: "one look at a clock that is ahead ends what waits for good",
    find: "return since === -1 ? -Infinity : Math.min(look.at, ...kept.slice(since).map(({ at }) => at));",
    replace: "return since === -2 ? -Infinity : look.at;",
  },
  {
    ...certain,
    name: "two looks at a clock may be as near as one likes",
    find: "look.elapsed - elapsed >= APART_MS",
    replace: "look.elapsed - elapsed >= 0",
  },
  {
    ...certain,
    name: "a clock that went back is not believed about the past",
    find: "Math.min(look.at, ...kept.slice(since).map(({ at }) => at))",
    replace: "Math.max(look.at, ...kept.slice(since).map(({ at }) => at))",
  },
  {
    ...certain,
    name: "what a process saw of the clock goes by the clock",
    find: "return { at, elapsed: clock.monotonic?.() ?? at };",
    replace: "return { at, elapsed: at };",
  },
  {
    ...certain,
    name: "cycles that share no process keep nothing of what they saw",
    find: 'tx.put("meta", "clock", { sightings: addClockSample(sightings, look) });',
    replace: "void sightings;",
  },
  {
    ...certain,
    name: "each cycle writes that it saw the clock",
    find: "if (addClockSample(kept, look) === kept) return;",
    replace: "void kept;",
  },
  {
    name: "what is overdue by the clock alone is applied",
    file: "lib/changes/operations/start.ts",
    find: "    requireInTime(change, { intent: product.intent, now });",
    replace: "void requireInTime;",
    tests: CERTAIN,
  },
  {
    name: "what is overdue by the clock alone is approved",
    file: "lib/changes/commands/decide.ts",
    find: 'if (type === "approve") requireInTime(before.change, { intent, now });',
    replace: "void requireInTime;",
    tests: CERTAIN,
  },
  {
    name: "a page offers what an overdue change is refused",
    file: "lib/changes/standings.ts",
    find: "allowed_actions: listAllowedInTime(change, timed),",
    replace: "allowed_actions: listAllowedInTime(change, { intent, now: 0 }),",
    tests: CERTAIN,
  },
  {
    name: "a clock that is ahead has a late apply taken back",
    file: "lib/changes/operations/resolve_operation.ts",
    find: 'if (overdue(now) || (isBehind && policy.approval_ttl_hours !== undefined)) return "in doubt";',
    replace: "if (overdue(now) || isBehind) return undefined;",
    tests: CERTAIN,
  },
  {
    name: "a clock that is behind holds a rollback up",
    file: "lib/changes/commands/run_operation.ts",
    find: 'anyClock: operation === "rollback"',
    replace: "anyClock: false",
    tests: ACCEPT,
  },
  {
    name: "what the host did is not recorded under a clock that is behind",
    file: "lib/changes/commands/run_operation.ts",
    find: "return governed(caller, decide, { anyClock: true });",
    replace: "return governed(caller, decide);",
    tests: ACCEPT,
  },
  {
    name: "an entry does not say that the clock was behind",
    file: "lib/changes/transaction.ts",
    find: "clock: new Date(now).toISOString() }",
    replace: "clock: String(now) }",
    tests: ACCEPT,
  },
  {
    name: "a service whose clock is behind is ready",
    file: "lib/operations/readiness.ts",
    find: "return { ok: behind === undefined, reason: behind ?? null };",
    replace: "return { ok: true, reason: behind ?? null };",
    tests: ACCEPT,
  },
  {
    ...accept,
    name: "an accepted clock is dated by the one before",
    find: 'append({ event_type: "clock_accepted", detail: { ...detail, last } }, at)',
    replace: 'append({ event_type: "clock_accepted", detail: { ...detail, last } })',
  },
  {
    ...accept,
    name: "a clock that is right is accepted all the same",
    find: "if (clockLag({ at: last }, now) <= 0)",
    replace: "if (last === undefined)",
  },
  {
    ...accept,
    name: "an operation under a clock that was ahead keeps its change for as long",
    find: "await shortenLeases(transaction);",
    replace: "void shortenLeases;",
  },
  {
    name: "a verifier at the service lets no accepted clock step back",
    file: "lib/audit/chain.ts",
    find: 'event_type === "clock_accepted";',
    replace: 'event_type === "";',
    tests: ACCEPT,
  },
  {
    name: "any entry may be dated before the one before it",
    file: "lib/audit/chain.ts",
    find: 'event_type === "clock_accepted";',
    replace: 'event_type !== "";',
    tests: ["test/lib/audit/damage.long.test.ts"],
  },
  {
    name: "the verifier lets no accepted clock step back",
    file: "local/verify/chain.ts",
    find: ' && entry.eventType !== "clock_accepted")',
    replace: ")",
    tests: ["test/tamper/damage.host.test.ts"],
  },
  {
    name: "anybody accepts a clock where people have keys",
    file: "lib/changes/rules/require_signature.ts",
    find: '  "accept_clock",\n',
    replace: "",
    tests: ACCEPT,
  },
  {
    name: "a signed acceptance of the clock is good for ever",
    file: "lib/changes/used_statements.ts",
    find: '"approve",',
    replace: '"approve", "accept_clock",',
    tests: ACCEPT,
  },
  {
    name: "one look at a clock that is ahead closes outcomes",
    file: "lib/projections/projector.ts",
    find: "const certain = await certainNow(deps);",
    replace: "const certain = (void certainNow, deps.clock.now());",
    tests: ["test/lib/changes/closing.test.ts"],
  },
];
