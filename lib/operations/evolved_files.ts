/** Writes the self-evolution files: the retrospective of each closed change, and the report of each week. */
import { entryKey } from "../audit/chain.ts";
import { localDay } from "../find/dates.ts";
import { addNotice } from "../projections/activity_log.ts";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { sequenceKey } from "../projections/buffer.ts";
import { ignoreMismatch } from "../changes/mismatch.ts";
import { DAY_MS, isoWeek } from "../kit/days.ts";
import type { OperationsDeps } from "./deps.ts";
import { writeRetrospective } from "./retrospective.ts";
import { computeTick } from "./state.ts";
import { writeWeeklyReport } from "./weekly_report.ts";

declare module "../store/store.ts" {
  interface Meta {
    reported: { week: string };
    /** Number of the last closed change whose retrospective is written. */
    retrospectives: { seq: number };
  }
}

const BATCH_SIZE = 20;

/** Writes the files that are due and returns their number; a host without files skips them. */
export async function writeDueFiles(deps: OperationsDeps): Promise<number> {
  return (await writeRetrospectives(deps)) + (await reportLastWeek(deps));
}

async function writeRetrospectives({ evolved, ...deps }: OperationsDeps): Promise<number> {
  const { store } = deps;
  const { state, list } = await readProjection(deps, outcomes);
  const advance = (seq: number) => store.transact((tx) => tx.put("meta", "retrospectives", { seq }));
  let lastWritten = (await store.get("meta", "retrospectives"))?.value.seq;
  if (lastWritten === undefined) {
    // An existing log gets retrospectives only of changes that are closed from now on.
    lastWritten = (await computeTick(deps)) === 0 ? 0 : state.closed.seq;
    await advance(lastWritten);
  }
  if (!evolved) {
    if (lastWritten !== state.closed.seq) await advance(state.closed.seq);
    return 0;
  }
  const due = await list("closed", { after: sequenceKey(lastWritten), limit: BATCH_SIZE });
  const changeIds = [...new Set(due.map(({ value }) => value))];
  for (const changeId of changeIds) {
    const text = await ignoreMismatch(writeRetrospective(deps, changeId));
    if (text !== undefined) await evolved.write(retrospectiveName(changeId), text);
  }
  if (due.length > 0) await advance(Number(due.at(-1)!.id));
  return changeIds.length;
}

/** Writes the report of the week that ended last, in UTC, once. */
async function reportLastWeek(deps: OperationsDeps): Promise<number> {
  const { store, clock, evolved, product } = deps;
  const last = isoWeek(clock.now() - 7 * DAY_MS);
  if (!evolved || !product || (await store.get("meta", "reported"))?.value.week === last.name) return 0;
  const first = (await store.get("audit", entryKey(1)))?.value.timestamp;
  // The log began after that week.
  if (first === undefined || first.slice(0, 10) > last.to) return 0;
  const file = await writeReport(deps, last.name, "UTC");
  await store.transact(async (tx) => {
    // Another process may have written it on its own disk; the growth log reports it once.
    if ((await tx.get("meta", "reported"))?.value.week === last.name) return;
    tx.put("meta", "reported", { week: last.name });
    await addNotice(deps, tx, {
      at: new Date(clock.now()).toISOString(),
      kind: "report_written",
      title: `The report of ${last.name} was written`,
      detail: file,
      ref: file,
    });
  });
  return 1;
}

/** Writes the report of the current week in a time zone, and returns the name of the file. */
export const reportThisWeek = (deps: OperationsDeps, zone: string): Promise<string> =>
  writeReport(deps, isoWeek(Date.parse(localDay(deps.clock.now(), zone))).name, zone);

async function writeReport({ evolved, ...deps }: OperationsDeps, week: string, zone: string): Promise<string> {
  const file = `report-${week}.md`;
  await evolved?.write(file, await writeWeeklyReport(deps, week, zone));
  return file;
}

/** Returns the file name of a change's retrospective; characters that no file name may contain are replaced. */
export const retrospectiveName = (changeId: string): string =>
  `retrospective-${changeId.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 100)}.md`;
