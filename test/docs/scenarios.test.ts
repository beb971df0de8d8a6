/** The scenarios of the manual and of the examples, played under their intents. */
import { expect, test } from "vitest";
import { loadIntent } from "../../lib/changes/rules/intent.ts";
import { sha256 } from "../../local/node_ports.ts";
import { play } from "../../local/scenarios/play.ts";
import { parseScenarios } from "../../local/scenarios/read.ts";
import { documents } from "./markdown.ts";

const { blocks } = documents().find(({ path }) => path === "docs/intent.md")!;
const textOf = (info: string) => blocks.filter((block) => block.info === info).map(({ text }) => text);
const { manifest } = loadIntent(textOf("json intent")[0]!, sha256);

test.each(
  textOf("yaml scenarios").flatMap((text) => parseScenarios(text).scenarios.map((one) => [one.name, one] as const)),
)("the manual's intent: %s", async (_, scenario) => {
  expect(await play(scenario, manifest)).toEqual({ differences: [] });
});
