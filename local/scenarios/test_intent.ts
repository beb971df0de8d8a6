/** Tests an intent by scenarios, which are played on the real service code. */
import { play } from "./play.ts";
import { readScenarios } from "./read.ts";

/** Result of a test. */
export interface IntentTestResult {
  /** Lines for people. */
  text: string;
  passed: boolean;
}

/** Plays each scenario of a file; `manifest` is the canonical text of the intent. Errors: `ScenariosInvalid`; those of reading. */
export async function testIntent(manifest: string, path: string): Promise<IntentTestResult> {
  const { scenarios, lineOf } = await readScenarios(path);
  const lines: string[] = [];
  let failed = 0;
  for (const [index, scenario] of scenarios.entries()) {
    const { differences, answerText } = await play(scenario, manifest);
    if (differences.length > 0) failed++;
    lines.push(
      differences.length === 0 ? `ok    ${scenario.name}` : `FAIL  ${scenario.name} (${path}:${lineOf([index])})`,
      ...differences.map(({ path: within, message }) => {
        // A difference is named by its place in `expect`.
        const field = within.filter((part, at) => at > 0 || part !== "expect").join(".");
        return `        ${path}:${lineOf([index, ...within])}: ${field} ${message}`;
      }),
      ...(answerText === undefined ? [] : [`        ${answerText}`]),
    );
  }
  lines.push(formatSummary(scenarios.length, failed));
  return { text: lines.join("\n"), passed: failed === 0 };
}

const formatSummary = (all: number, failed: number): string =>
  failed === 0
    ? `${all} ${all === 1 ? "scenario passes" : "scenarios pass"}`
    : `${failed} of ${all} ${all === 1 ? "scenario fails" : "scenarios fail"}`;
