/** The scenarios in the manual and in the examples pass under the intents of the examples. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadIntent } from "../../lib/changes/rules/intent.ts";
import { sha256 } from "../../local/node_ports.ts";
import { play } from "../../local/scenarios/play.ts";
import { parseScenarios } from "../../local/scenarios/read.ts";
import { documents, ROOT } from "./markdown.ts";

const page = documents().find(({ path }) => path === "docs/intent.md")!;
const manualScenarios = page.blocks.filter(({ info }) => info === "yaml scenarios").map(({ text }) => text);

describe.each([
  ["examples/rules", manualScenarios],
  ["examples/teams", []],
])("%s", (folder, additional) => {
  const read = (file: string) => readFileSync(join(ROOT, folder, file), "utf8");
  const { manifest } = loadIntent(read("product_intent.json"), sha256);
  const scenarios = [read("scenarios.yaml"), ...additional].flatMap((text) => parseScenarios(text).scenarios);

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))("%s", async (_, scenario) => {
    expect(await play(scenario, manifest)).toEqual({ differences: [] });
  });
});
