/** Mandates: a bound that people signed holds, and one that is suspended or over approves nothing. */

const MANDATES = ["test/lib/changes/mandates/mandates.test.ts"];
const CARRIED = ["test/lib/changes/mandates/carried.test.ts"];
const NARROW = ["test/lib/changes/rules/mandate_narrow.test.ts"];
const LOST = ["test/lib/changes/mandates/lost_records.test.ts"];
const FORGED = ["test/local/verify/mandate_forgeries.host.test.ts"];

export const mandates = [
  {
    name: "a suspension leaves a mandate active",
    file: "lib/changes/rules/mandate_record.ts",
    find: 'return { state: "suspended", suspension: { ...suspension, at: timestamp }, resumes: [] };',
    replace: "return { resumes: [] };",
    tests: MANDATES,
  },
  {
    name: "a mandate has no end",
    file: "lib/changes/rules/mandate_allowed.ts",
    find: "until: bounds.until < latest ? bounds.until : latest",
    replace: 'until: latest < "" ? latest : "9999-01-01T00:00:00.000Z"',
    tests: MANDATES,
  },
  {
    name: "a mandate approves changes of another agent",
    file: "lib/changes/rules/mandate_inside.ts",
    find: "change.proposer == null || sameName(change.proposer) !== bounds.agent",
    replace: 'change.proposer == null || sameName(change.proposer) === ""',
    tests: CARRIED,
  },
  {
    name: "the changes of a day are not summed",
    file: "lib/changes/mandates/approve.ts",
    find: "(await usedToday(evidence, mandate_id, at)) + entries",
    replace: "0 * (await usedToday(evidence, mandate_id, at)) + entries",
    tests: MANDATES,
  },
  {
    name: "a narrowing raises a count",
    file: "lib/changes/rules/mandate_narrow.ts",
    find: "before !== undefined && after > before ?",
    replace: "before !== undefined && after < 0 ?",
    tests: NARROW,
  },
  {
    name: "open changes of a mandate are those that the stored records leave open",
    file: "lib/changes/mandates/open.ts",
    find: "if (isOpen) open++;",
    replace: "if (isOpen && open === 0) open++;",
    tests: LOST,
  },
  {
    name: "a verifier's mandate outlives an accepted loss",
    file: "local/verify/mandate_fold.ts",
    find: "if (isLoss(one)) return void lose(mandate);",
    replace: "if (isLoss(one)) return void 0;",
    tests: FORGED,
  },
  {
    name: "a verifier takes values outside the schema of a mandate",
    file: "local/verify/mandate_inside.ts",
    find: "schema === undefined || areAllowed(sets, schema)",
    replace: "schema === undefined || areAllowed(sets, {})",
    tests: FORGED,
  },
];
