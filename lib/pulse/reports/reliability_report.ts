import { entriesOf } from "../../audit/page.ts";
import type { PulseDeps } from "../deps.ts";
import type { Figures } from "../figures.ts";
import { growthPage } from "../../follow/growth_log.ts";
import { code, list, page, quoted, share } from "./markdown.ts";

const SHOWN = 10;
const FAILURES: readonly string[] = [
  "change_apply_failed",
  "change_rollback_failed",
  "change_rolled_back",
  "change_drifted",
];

/** R: which applies failed, and of what. */
export async function reliabilityReport(deps: PulseDeps, { reliability }: Figures): Promise<string> {
  const { value, from, to, n, failed, causes, interval } = reliability;
  const sure = interval ? ` (95 % interval ${share(interval.low)} to ${share(interval.high)})` : "";
  const failures = await newestFailures(deps);
  return page(
    "## Reliability: what failed, and why",
    `R is ${share(value)}${sure}: of ${n} applies attempted from ${from} to ${to}, ${failed} failed.`,
    list([
      `failed in the adapter: ${causes.adapter_failure}`,
      `rolled back: ${causes.rolled_back}`,
      `drifted: ${causes.drifted}`,
    ]),
    failures.length > 0 ? "The newest failures:" : "No failure is on record.",
    list(failures),
    "Computed from the audit log: change_applied, change_apply_failed, change_rolled_back, change_drifted.",
  );
}

/** The newest failures with the cause that the audit log gives, newest first. */
async function newestFailures(deps: PulseDeps): Promise<string[]> {
  const pages = await Promise.all(
    ["operation_failed", "rolled_back", "drift"].map((kind) => growthPage(deps, { limit: SHOWN, kind })),
  );
  const rows = pages.flatMap(({ entries }) => entries).sort((a, b) => b.seq - a.seq);
  const changeIds = [...new Set(rows.flatMap(({ ref }) => (ref === null ? [] : [ref])))].slice(0, SHOWN);
  const told = await Promise.all(
    changeIds.map(async (changeId) => {
      const record = (await deps.store.get("changes", changeId))?.value;
      const entries = await entriesOf(deps.store, record?.audit.slice(-10) ?? []);
      const last = entries.filter(({ event_type }) => FAILURES.includes(event_type)).at(-1);
      return last && record
        ? `${last.timestamp} ${code(changeId)} on ${code(record.change.target)}: ${causeOf(last)}`
        : [];
    }),
  );
  return told.flat();
}

function causeOf({ event_type, detail }: { event_type: string; detail: string }): string {
  const facts = JSON.parse(detail) as { stage?: string; error?: string; by?: string; state?: string };
  const what = event_type.replace("change_", "").replaceAll("_", " ");
  if (facts.error) return `${what} in ${facts.stage}: ${quoted(facts.error)}`;
  if (facts.state) return `${what}: the host's state is ${facts.state}`;
  return facts.by ? `${what} by ${quoted(facts.by)}` : what;
}
