import type { PulseDeps } from "../deps.ts";
import type { Figures } from "../figures.ts";
import { RECORD_ITEMS } from "../../follow/record_keeping.ts";
import { code, list, page, quoted, share } from "./markdown.ts";

/** M: what is missing on the record of closed changes, and where. */
export async function memoryReport({ store }: PulseDeps, { memory }: Figures): Promise<string> {
  const { value, from, to, closed, expected, present, missing, gaps } = memory;
  const records = await store.getMany(
    "changes",
    gaps.map(({ change_id }) => change_id),
  );
  const rows = gaps.map(({ change_id, missing: items }, index) => {
    const summary = records[index]?.value.change.summary ?? "";
    return `${code(change_id)} ${quoted(summary)} lacks ${items.join(", ")}`;
  });
  return page(
    "## Memory: what is on record",
    `M is ${share(value)}: of ${expected} things that should be on record of ${closed} changes closed from ${from} to ${to}, ${present} are.`,
    list(RECORD_ITEMS.filter((item) => missing[item] > 0).map((item) => `${item}: missing ${missing[item]} times`)),
    rows.length > 0 ? "The newest gaps:" : "There are no gaps.",
    list(rows),
    "Computed from the closed changes: rationale, named decider, note, and a verdict on what was applied.",
  );
}
