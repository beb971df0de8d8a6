/** Tests the lines of the log, on which variables of the logging library have no effect. */
import { afterEach, expect, test, vi } from "vitest";
import { openLog } from "../../local/logger.ts";

afterEach(() => vi.unstubAllEnvs());

function recordLines() {
  const lines: string[] = [];
  return { lines, openRecorded: () => openLog("countersign", (line) => lines.push(line)) };
}

test("each level is one JSON object on one line, with message, fields and UTC time", () => {
  vi.stubEnv("TZ", "America/New_York");
  const { lines, openRecorded } = recordLines();
  const log = openRecorded();
  log.info("listening", { url: "http://127.0.0.1:1", note: "two\nlines" });
  log.warn("careful");
  log.error("failed", { error: new Error("no disk"), size: 10n });
  const parsed = lines.map((line) => JSON.parse(line));
  expect(lines.join("")).not.toContain("\n");
  expect(parsed.map(({ level, message }) => [level, message])).toEqual([
    ["INFO", "listening"],
    ["WARN", "careful"],
    ["ERROR", "failed"],
  ]);
  expect(parsed[0]).toMatchObject({ service: "countersign", url: "http://127.0.0.1:1", note: "two\nlines" });
  expect(parsed[0].timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(parsed[2]).toMatchObject({ error: { message: "no disk" }, size: "10" });
});

test.each([
  ["POWERTOOLS_DEV", "true"],
  ["POWERTOOLS_LOG_LEVEL", "SILENT"],
  ["LOG_LEVEL", "ERROR"],
  ["AWS_LAMBDA_LOG_LEVEL", "ERROR"],
  ["POWERTOOLS_LOGGER_SAMPLE_RATE", "1"],
])("%s=%s changes nothing", (name, value) => {
  vi.stubEnv(name, value);
  const { lines, openRecorded } = recordLines();
  const log = openRecorded();
  log.info("listening", { url: "u" });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ message: "listening", url: "u" });
});
