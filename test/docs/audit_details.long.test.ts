/** docs/audit_log.md lists every member of `detail` that occurs in the log of a simulated month. */
import { expect, test } from "vitest";
import { sharedMonth } from "../support/month/month.ts";
import { documents } from "./markdown.ts";
import { withoutBackticks, listRows } from "./tables.ts";

test("every member of the details of a month is listed", async () => {
  const { entries } = (await (await sharedMonth()).get("audit?limit=1000")).body as {
    entries: { event_type: string; detail: string }[];
  };
  const document = documents().find(({ path }) => path === "docs/audit_log.md")!;
  const rows = new Map(
    listRows(document, "`event_type`", "When").map(([event, , detail]) => [withoutBackticks(event!), detail!]),
  );
  // Members of every entry, and of entries about a change or signed ones.
  const common = ["actor", "authenticated", "status", "digest", "manifest_hash", "key", "statement", "proof"];
  const unlisted = entries.flatMap(({ event_type, detail }) =>
    Object.keys(JSON.parse(detail) as object)
      .filter((member) => !common.includes(member) && !rows.get(event_type)!.includes(`\`${member}\``))
      .map((member) => `${event_type}: ${member}`),
  );
  expect(entries.length).toBeGreaterThan(50);
  expect([...new Set(unlisted)]).toEqual([]);
});
