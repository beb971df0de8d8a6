/** Values of Unleash flags: what the target rejects before it asks the server. */
import { expect, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { unleashTarget } from "../../../local/targets/unleash.ts";
import { isSameFlag } from "../../../local/targets/unleash_value.ts";

const common = { project: "default", environment: "production", token: "user:secret", clock: systemClock };
const target = unleashTarget({ ...common, url: "https://unleash.acme.example/base/" });
const entry = (value: unknown, name = "new-checkout") => ({
  tenant_id: "t1",
  target: name,
  kind: "config" as const,
  value,
});

const rollout = (parameters: object, overrides = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: "10", stickiness: "userId", groupId: "g", ...parameters },
  ...overrides,
});
const on = (...strategies: object[]) => ({ enabled: true, strategies });

test.each([
  ["a boolean", true],
  ["a flag that is disabled and has no strategies", { enabled: false, strategies: [] }],
  ["a rollout", on(rollout({}))],
  ["a rollout to everybody", on(rollout({ rollout: "100" }))],
  ["a disabled strategy, where another is not", on({ name: "default", disabled: true }, { name: "default" })],
])("%s can be set", (_, value) => {
  expect(target.check(entry(value))).toBeUndefined();
});

test.each([
  ["text", "on", "neither a boolean nor"],
  ["null", null, "neither a boolean nor"],
  ["a flag without strategies", { enabled: true }, "neither a boolean nor"],
  ["a strategy that is no object", { enabled: true, strategies: ["default"] }, "neither a boolean nor"],
  ["an enabled flag with no strategy", on(), "adds one for all users"],
  ["an enabled flag with disabled strategies only", on({ name: "default", disabled: true }), "adds one for all users"],
  ["another member of the flag", { ...on({ name: "default" }), variants: [] }, '"variants"'],
  ["the id of a strategy", on({ name: "default", id: "1" }), '"id"'],
  ["a strategy without a name", on({ parameters: {} }), "has no name"],
  ["a rollout over 100", on(rollout({ rollout: "101" })), "whole number"],
  ["a rollout that is not a number", on(rollout({ rollout: "abc" })), "whole number"],
  ["a part of a percent", on(rollout({ rollout: "0.5" })), "whole number"],
  ["a rollout that is no text", on(rollout({ rollout: 10 })), "object of texts"],
  ["a rollout without stickiness", on(rollout({ stickiness: "" })), "the parameter stickiness"],
  ["segments by name", on({ name: "default", segments: ["staff"] }), "list of ids"],
  ["constraints that are no list", on({ name: "default", constraints: {} }), "list of objects"],
  ["a character that Postgres cannot store", on({ name: "default", title: "\u0000" }), "U+0000"],
  ["a very large value", on({ name: "default", title: "x".repeat(150_000) }), "150 kB"],
])("%s is rejected", (_, value, reason) => {
  expect(target.check(entry(value))).toContain(reason);
});

test.each(["a/b", "a b", "ü", "..", "?x", "", "x".repeat(101)])("the flag name %j is rejected", (name) => {
  expect(target.check(entry(true, name))).toContain("the flag's name");
});

test.each([
  "unleash.acme.example",
  "ftp://unleash.acme.example",
  "https://user:secret@unleash.acme.example",
  "https://a.example/?t=1",
])("the address %s is rejected", (url) => {
  expect(() => unleashTarget({ ...common, url })).toThrow(/^must /);
});

test("the target's description has project, environment and flag, and no credentials", () => {
  expect(target.place(entry(true))).toBe('unleash https://unleash.acme.example/base default/production "new-checkout"');
});

test("a comparison of flags ignores ids and defaults, but not the order of strategies", () => {
  const stored = rollout({}, { id: "1", sortOrder: 0, title: null, disabled: false, constraints: [], segments: [] });
  expect(
    isSameFlag(on(stored, { name: "default", parameters: {} }) as never, on(rollout({}), { name: "default" }) as never),
  ).toBe(true);
  expect(isSameFlag(on({ name: "default" }, rollout({})) as never, on(rollout({}), { name: "default" }) as never)).toBe(
    false,
  );
  expect(isSameFlag(on(rollout({})) as never, on(rollout({ rollout: "11" })) as never)).toBe(false);
});
