/** What reports and lessons say. */

const AGREES = ["test/lib/pulse/learning/report_agrees.test.ts", "test/lib/pulse/learning/lessons_agree.test.ts"];

const PICTURES = ["test/lib/pulse/learning/report_agrees.test.ts", "test/lib/pulse/learning/picture.test.ts"];

export const learning = [
  {
    name: "a picture draws a promise that was missed as kept",
    file: "lib/pulse/learning/week_drawn.ts",
    find: "return { kept: verdict_met, broken: verdict_missed + verdict_regressed };",
    replace: "return { kept: verdict_met + verdict_missed, broken: verdict_regressed };",
    tests: PICTURES,
  },
  {
    name: "a picture marks no rollback",
    file: "lib/pulse/learning/week_drawn.ts",
    find: '["rolled back", rolled_back_at],',
    replace: "",
    tests: PICTURES,
  },
  {
    name: "a picture draws the first need of a week instead of the last",
    file: "lib/pulse/learning/week_drawn.ts",
    find: ".at(-1)?.value.N",
    replace: ".at(0)?.value.N",
    tests: PICTURES,
  },
  {
    name: "a picture draws a KPI upside down",
    file: "lib/pulse/picture/kpi_panel.ts",
    find: ": below - ((value / 2",
    replace: ": above + ((value / 2",
    tests: PICTURES,
  },
  {
    name: "a picture keeps the words of an erased change",
    file: "lib/pulse/erased_files.ts",
    find: 'const without = name.endsWith(".svg") ? withoutWordsOn',
    replace: 'const without = name.endsWith(".svg") ? () => text',
    tests: PICTURES,
  },
  {
    name: "what somebody wrote is markup in a picture",
    file: "lib/pulse/picture/svg.ts",
    find: "escapeHtml(shorten(oneLine(text), most))",
    replace: "shorten(oneLine(text), most)",
    tests: PICTURES,
  },
  {
    name: "a report says that a change expires when it would lapse",
    file: "lib/pulse/learning/standing_told.ts",
    find: "const deadline = deadlineOf(change, policy);",
    replace: "const deadline = Date.parse(change.created_at) + 864e6;",
    tests: AGREES,
  },
  {
    name: "a report leaves out what is too early to judge",
    file: "lib/pulse/learning/standing_told.ts",
    find: '["Too early to judge", ["too_early"]],',
    replace: "",
    tests: AGREES,
  },
  {
    name: "a report leaves out why something was done",
    file: "lib/pulse/learning/told.ts",
    find: "facts.note?.trim() ? `: ${words(facts.note)}`",
    replace: "facts.kind ? `: ${words(String(facts.note))}`",
    tests: AGREES,
  },
  {
    name: "the lesson on reliability does not see what was rolled back",
    file: "lib/pulse/learning/attempts.ts",
    find: "const isUndone = !isFailure && rolledBack.has(change_id);",
    replace: "const isUndone = false;",
    tests: AGREES,
  },
];
