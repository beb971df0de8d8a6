/** The choice of the target system for a change, and its key on that system. */
import { expect, test } from "vitest";
import { NoTargetSystem, type ProductAdapter } from "../../../lib/changes/operations/adapter_port.ts";
import type { Kind } from "../../../lib/changes/rules/change_terms.ts";
import { findWildcard } from "../../../lib/changes/rules/target_pattern.ts";
import { type RoutedSystem, routingAdapter } from "../../../lib/targets/routing.ts";
import { expandTemplate, findTemplateProblem } from "../../../lib/targets/template.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

const system = (name: string, match: string[], fields: Partial<RoutedSystem> = {}): RoutedSystem => ({
  name,
  match,
  adapter: scriptedAdapter(),
  ...fields,
});
/** Returns the name of the target system, or the message of the error if no system serves the target. */
const locate = (adapter: ProductAdapter, target: string, tenant_id = "t1", kind: Kind = "config") => {
  try {
    return adapter.locate!({ target, tenant_id, kind, value: 1 }).system;
  } catch (error) {
    expect(error).toBeInstanceOf(NoTargetSystem);
    return (error as Error).message;
  }
};

test("the first system whose patterns and kinds cover a change gets it", () => {
  const adapter = routingAdapter([
    system("patches", ["repo/*"], { kinds: ["code_patch"] }),
    system("repo", ["repo/*", "lib/*"]),
    system("rest", ["*"]),
  ]);
  expect(locate(adapter, "repo/a", "t1", "code_patch")).toBe("patches");
  expect(locate(adapter, "repo/a")).toBe("repo");
  expect(locate(adapter, "LIB/a")).toBe("repo");
  expect(locate(adapter, "billing.plan")).toBe("rest");
});

test("systems of one pattern differ by tenant, and no later pattern gets the other tenants", () => {
  const adapter = routingAdapter([
    system("one", ["flags/*"], { tenants: ["t1"] }),
    system("two", ["FLAGS/*"], { tenants: ["t2", "*"] }),
    system("rest", ["*"]),
  ]);
  expect(locate(adapter, "flags/a", "t1")).toBe("one");
  expect(locate(adapter, "flags/a", "t2")).toBe("two");
  expect(locate(adapter, "flags/a", "*")).toBe("two");
  expect(locate(adapter, "flags/a", "T1")).toBe("the target systems of flags/a (one, two) do not serve the tenant T1");
  expect(locate(adapter, "other", "T1")).toBe("rest");
});

test("a target that no system covers is rejected", () => {
  expect(locate(routingAdapter([system("flags", ["flags/*"])]), "billing.plan")).toBe(
    "no target system covers billing.plan of kind config",
  );
});

test.each([
  ["flags/*", "Flags/New.Checkout", "New.Checkout"],
  ["*", "a/b", "a/b"],
  ["a/*/c/*", "a/x/y/c/d/e", "d/e"],
  ["*.json", "config/app.json", "config/app"],
  // Without a *, the complete target.
  ["flags/on", "flags/ON", "flags/ON"],
  ["flags/*", "other", undefined],
])("in the pattern %s, the last * matches this part of %s: %s", (pattern, target, rest) => {
  expect(findWildcard(target, [pattern])).toBe(rest);
});

test.each([
  ["{rest}", "t1", "a.b", "a.b"],
  ["/app/{tenant}/{rest}", "t1", "a/b", "/app/t1/a/b"],
  ["{tenant}:{rest}", "t1", "a:b", "t1:a:b"],
  ["config/{rest}.json", "t1", "a", "config/a.json"],
])("the template %s of %s and %s is %s", (template, tenant, rest, key) => {
  expect(expandTemplate(template, { tenant, rest })).toBe(key);
});

test.each([
  ["/app/{tenant}/{rest}", "a/b", "x", 'tenant "a/b" contains /'],
  ["{tenant}:{rest}", "a:b", "x", 'tenant "a:b" has no clear end before ":"'],
  ["{rest}:{tenant}", "a", "x:y", 'rest "x:y" has no clear end before ":"'],
  ["config/{rest}.json", "a", "x.json", 'rest "x.json" has no clear end before ".json"'],
  ["{tenant}__{rest}", "acme_", "x", 'tenant "acme_" has no clear end before "__"'],
  ["config/{rest}", "a", "x/../y", 'rest "x/../y" has a segment . or ..'],
  ["/{tenant}/{rest}", "..", "x", 'tenant ".." has a segment . or ..'],
])("the template %s rejects %s and %s", (template, tenant, rest, problem) => {
  expect(() => expandTemplate(template, { tenant, rest })).toThrow(problem);
});

test.each([
  ["{tenant}{rest}", "two placeholders with nothing between them"],
  ["{target}", "{target}"],
  ["x/{rest", "{rest"],
  ["", "is empty"],
])("the template %s cannot be used", (template, problem) => {
  expect(findTemplateProblem(template)).toContain(problem);
});
