/** The log of rejected connections of the link. */
import { expect, test } from "vitest";
import { createRejectionLog } from "../../../local/link/rejection_log.ts";

test("rejections are logged at most every ten seconds, also after the clock was set back", () => {
  const lines: unknown[] = [];
  let now = 10_000_000;
  const log = { warn: (_: string, fields: unknown) => void lines.push(fields) };
  const reject = createRejectionLog(log as never, { now: () => now } as never);
  const line = (more?: object) => ({ from: "a", reason: "b", ...more });
  reject("a", "b");
  now += 9_999;
  reject("a", "b");
  expect(lines).toEqual([line()]);
  now -= 3_600_000;
  reject("a", "b");
  expect(lines).toEqual([line(), line({ more_since_last_line: 1 })]);
});
