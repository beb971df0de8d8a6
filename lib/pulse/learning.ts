/** Writes down what there is to learn: the retrospective of each closed change, the report of each week, the lessons. */
import { entryKey } from "../audit/chain.ts";
import type { PulseDeps } from "./deps.ts";
import { DAY_MS, type Week, weekOf } from "../kit/days.ts";
import { figuresOf } from "./figures.ts";
import { addNotice } from "../follow/growth_log.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";
import { ringKey } from "../follow/ring.ts";
import { lessonsOf } from "./learning/lessons.ts";
import { unlessMismatched } from "../governance/mismatch.ts";
import { drawWeek } from "./learning/week_drawn.ts";
import { retrospectiveOf } from "./learning/retrospective.ts";
import { weeklyReport } from "./learning/weekly_report.ts";
import { tickOf } from "./state.ts";
import { DIMENSIONS } from "./tasks.ts";

declare module "../store/store.ts" {
  interface Meta {
    reported: { week: string };
    /** The last of the closed changes whose retrospective is written. */
    retrospectives: { seq: number };
  }
}

const BATCH = 20;

/** Writes what is due and returns how many files; without a place for files what is due is dropped. */
export async function keepLearning(deps: PulseDeps): Promise<number> {
  return (await writeRetrospectives(deps)) + (await reportLastWeek(deps));
}

async function writeRetrospectives({ evolved, ...deps }: PulseDeps): Promise<number> {
  const { store } = deps;
  const { state, list } = await reading(deps, outcomes);
  const keep = (seq: number) => store.transact((tx) => tx.put("meta", "retrospectives", { seq }));
  let done = (await store.get("meta", "retrospectives"))?.value.seq;
  // An older version has written those of its time; where nothing is written, nothing piles up.
  if (done === undefined) await keep((done = (await tickOf(deps)) === 0 ? 0 : state.closed.seq));
  if (!evolved) return done === state.closed.seq ? 0 : keep(state.closed.seq).then(() => 0);
  const due = await list("closed", { after: ringKey(done), limit: BATCH });
  const changeIds = [...new Set(due.map(({ value }) => value))];
  for (const changeId of changeIds) {
    const text = await unlessMismatched(retrospectiveOf(deps, changeId));
    if (text !== undefined) await evolved.write(retrospectiveName(changeId), text);
  }
  if (due.length > 0) await keep(Number(due.at(-1)!.id));
  return changeIds.length;
}

/** The report of the week that ended last, once it has. */
async function reportLastWeek(deps: PulseDeps): Promise<number> {
  const last = weekOf(deps.clock.now() - 7 * DAY_MS);
  if (!deps.evolved || (await deps.store.get("meta", "reported"))?.value.week === last.name) return 0;
  const first = (await deps.store.get("audit", entryKey(1)))?.value.timestamp;
  // A service whose log begins later has nothing to say of that week.
  if (first === undefined || first.slice(0, 10) > last.to) return 0;
  const written = await writeReport(deps, last);
  await deps.store.transact(async (tx) => {
    // Another process may have written it on its own disk; that it was written is told once.
    if ((await tx.get("meta", "reported"))?.value.week === last.name) return;
    tx.put("meta", "reported", { week: last.name });
    await addNotice(deps, tx, {
      at: new Date(deps.clock.now()).toISOString(),
      kind: "report_written",
      title: `The report of ${last.name} was written`,
      detail: written.join(", "),
      ref: written[0]!,
    });
  });
  return written.length;
}

/** Writes a week's report with its picture, and today's lessons, and returns the names of the files. */
export async function writeReport(
  { evolved, ...deps }: PulseDeps,
  week: Week = weekOf(deps.clock.now()),
): Promise<string[]> {
  const figures = await figuresOf(deps);
  const lessons = await lessonsOf(deps, figures);
  const report = `report-${week.name}`;
  const { svg, told } = await drawWeek(deps, week);
  const files = {
    [`${report}.md`]: await weeklyReport(deps, week, figures, { file: `${report}.svg`, told }),
    [`${report}.svg`]: svg,
  };
  for (const dimension of DIMENSIONS) files[`lessons-${dimension}.md`] = lessons[dimension];
  for (const [name, text] of Object.entries(files)) await evolved?.write(name, text);
  return Object.keys(files);
}

/** The file of a change's retrospective. Ids of this service fit a file name; one that came from elsewhere is made to. */
export const retrospectiveName = (changeId: string): string =>
  `retrospective-${changeId.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 100)}.md`;
