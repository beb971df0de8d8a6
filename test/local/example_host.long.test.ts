/** Tests the example host, which prints the values of the adapter's file, and the example's intent. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { loadIntent } from "../../lib/changes/rules/intent.ts";
import { canDecide, countRequiredApprovers, judgeTier } from "../../lib/changes/rules/policy.ts";
import { createCrmFollowup } from "../../lib/changes/rules/propose.ts";
import { sha256 } from "../../local/node_ports.ts";
import { openFileAdapter, change } from "./targets/file/open_file_adapter.ts";

const example = (name: string) => fileURLToPath(new URL(`../../local/example/${name}`, import.meta.url));

/** Starts the example host on a file; `nextLine` and `nextError` return its next line on standard output and error. */
async function startHost(path: string) {
  const child = spawn(process.execPath, [example("host.mjs"), path], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(async () => {
    const exited = once(child, "exit");
    if (child.kill()) await exited;
  });
  const [out, err] = [child.stdout, child.stderr].map((input) => createInterface({ input })[Symbol.asyncIterator]());
  const [nextLine, nextError] = [out!, err!].map((lines) => async () => (await lines.next()).value as string);
  expect(await nextLine!()).toBe(`watching ${path}`);
  return { nextLine: nextLine!, nextError: nextError! };
}

test("the host waits for the file, then prints a line for each value that changes", { timeout: 30_000 }, async () => {
  const { apply, rollback, write, path } = await openFileAdapter({ path: "made/later/product.json" });
  const { nextLine, nextError } = await startHost(path);
  // Both changes set the same target: names are compared without case, and the first spelling stays.
  const [first, second] = [
    change("chg_1", { value: { on: true } }),
    change("chg_2", { target: "UI.BANNER", value: 2 }),
  ];
  await apply(first);
  expect(await nextLine()).toBe('t1 ui.banner = {"on":true}');
  // A change without a value sets nothing, so no line follows.
  await apply(change("chg_3", { tenant_id: "t2", value: undefined }));
  await apply(second);
  expect(await nextLine()).toBe("t1 ui.banner = 2");
  await rollback(second);
  expect(await nextLine()).toBe('t1 ui.banner = {"on":true}');
  await rollback(first);
  expect(await nextLine()).toBe("t1 ui.banner is not set");
  await apply(change("chg_4", { target: "x", value: [] }));
  expect(await nextLine()).toBe("t1 x = []");
  await apply(change("chg_5", { target: "y", value: "once" }));
  expect(await nextLine()).toBe('t1 y = "once"');
  await write("{");
  expect(await nextError()).toContain("JSON");
});

test("the host keeps its values while the file is broken", { timeout: 30_000 }, async () => {
  const { apply, path, text, write } = await openFileAdapter();
  await apply(change("chg_1", { value: 1 }));
  const { nextLine, nextError } = await startHost(path);
  expect(await nextLine()).toBe("t1 ui.banner = 1");
  const completeText = await text();
  await write(completeText.slice(0, -20));
  expect(await nextError()).toMatch(/^keeping the current values: /);
  await write(completeText);
  await apply(change("chg_2", { value: 2 }));
  expect(await nextLine()).toBe("t1 ui.banner = 2");
});

test("the example's intent is valid: a crm follow-up needs one approval, a small ui change none", async () => {
  const { intent } = loadIntent(await readFile(example("product_intent.json"), "utf8"), sha256);
  const minorToday = 0;
  const tier = judgeTier(
    createCrmFollowup({ tenant_id: "t1", affected_users: 40, expected_delta_k: 1.5 }),
    intent.policy,
    minorToday,
  );
  expect([tier, countRequiredApprovers(tier, intent.policy)]).toEqual(["standard", 1]);
  const smallChange = {
    kind: "config",
    target: "ui.banner",
    tier: "minor",
    affected_users: 5,
    risk: "low",
    reversible: true,
  } as const;
  expect(judgeTier({ tenant_id: "t1", ...smallChange }, intent.policy, minorToday)).toBe("minor");
  expect([intent.product_id, canDecide("anybody", intent), intent.policy.self_approval]).toEqual([
    "acme-crm",
    true,
    true,
  ]);
  expect(intent.policy.guardrails.map(({ kpi }) => kpi)).toEqual(["incident_rate"]);
});
