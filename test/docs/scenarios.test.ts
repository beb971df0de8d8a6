/** The scenarios of the manual and of the examples, played under their intents. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadIntent } from "../../lib/changes/rules/intent.ts";
import { sha256 } from "../../local/node_ports.ts";
import { play } from "../../local/scenarios/play.ts";
import { parseScenarios } from "../../local/scenarios/read.ts";
import { documents } from "./markdown.ts";

const { blocks } = documents().find(({ path }) => path === "docs/intent.md")!;
const textOf = (info: string) => blocks.filter((block) => block.info === info).map(({ text }) => text);
const { manifest } = loadIntent(textOf("json intent")[0]!, sha256);

const TEAMS = join(import.meta.dirname, "../../examples/teams");

test.each(
  textOf("yaml scenarios").flatMap((text) => parseScenarios(text).scenarios.map((one) => [one.name, one] as const)),
)("the manual's intent: %s", async (_, scenario) => {
  expect(await play(scenario, manifest)).toEqual({ differences: [] });
});

const teams = (file: string) => readFileSync(join(TEAMS, file), "utf8");
const ofTeams = loadIntent(teams("product_intent.json"), sha256).manifest;

test.each(parseScenarios(teams("scenarios.yaml")).scenarios.map((one) => [one.name, one] as const))(
  "the example of teams: %s",
  async (_, scenario) => {
    expect(await play(scenario, ofTeams)).toEqual({ differences: [] });
  },
);
