/** Each line of the month's reports is reckoned anew from the ledger; a line that nobody here knows is a failure. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Month } from "../../../support/month/acts.ts";
import { monthToRead } from "../../../support/month/month.ts";
import { checkPicture } from "../../../support/month/picture_shapes.ts";
import { reckonAt } from "../../../support/month/reckoning.ts";
import { CHECKS, sectionsOf } from "../../../support/month/report_lines.ts";

const WEEKS = {
  W42: ["2026-10-12", "2026-10-18", "2026-10-19T00:10:00.000Z"],
  W43: ["2026-10-19", "2026-10-25", "2026-10-26T00:10:00.000Z"],
  W44: ["2026-10-26", "2026-11-01", "2026-11-02T00:10:00.000Z"],
  W45: ["2026-11-02", "2026-11-08", "2026-11-09T00:10:00.000Z"],
  W46: ["2026-11-09", "2026-11-15", "2026-11-16T00:10:00.000Z"],
  // Asked for on Monday morning, of the week that has just begun.
  W47: ["2026-11-16", "2026-11-22", "2026-11-16T09:30:00.000Z"],
} as const;

let month: Month;
beforeAll(async () => {
  month = await monthToRead();
  await month.run("write_report");
});

describe.each(Object.entries(WEEKS))("the report of %s", (week, [from, to, at]) => {
  test("says in each line what the ledger says", () => {
    const { ledger, files } = month;
    const now = reckonAt(ledger, at);
    const sections = sectionsOf(files.texts.get(`report-2026-${week}.md`)!);
    const title = `Week 2026-${week} (${from} to ${to})`;
    expect(sections.get(title)).toEqual([
      `Written ${at}. What waits, what is due and the column “now” are as of then; all times are UTC.`,
      expect.stringMatching(new RegExp(`^!\\[The 8 weeks up to ${to}: .*\\]\\(report-2026-${week}\\.svg\\)$`)),
    ]);
    for (const [heading, lines] of sections) {
      if (heading === title) continue;
      expect(CHECKS[heading], `a part that nobody checks: ${heading}`).toBeDefined();
      CHECKS[heading]!(lines, { ledger, now, from, to });
    }
  });

  test("is drawn point by point as the ledger says", () => {
    const { ledger, files } = month;
    checkPicture(files.texts.get(`report-2026-${week}.svg`)!, { ledger, now: reckonAt(ledger, at), from, to });
  });
});
