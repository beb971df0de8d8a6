/** Mandates: a bound that people signed holds, and one that is suspended or over approves nothing. */

const MANDATES = ["test/lib/changes/mandates/mandates.test.ts"];
const CARRIED = ["test/lib/changes/mandates/carried.test.ts"];
const NARROW = ["test/lib/changes/rules/mandate_narrow.test.ts"];
const LOST = ["test/lib/changes/mandates/lost_records.test.ts"];
const FORGED = ["test/local/verify/mandate_forgeries.host.test.ts"];

const AFTER = ["test/lib/changes/mandates/after_apply.test.ts"];
const WRITES = ["test/lib/changes/mandates/own_writes.test.ts"];
const PEOPLE = ["test/lib/changes/mandates/people_instead.test.ts"];
const LOG = ["test/lib/changes/mandates/log_leads.test.ts"];

export const mandates = [
  {
    name: "a rollout grows though its value is outside the narrowed schema",
    file: "lib/changes/mandates/check_apply.ts",
    find: ": judgeSchema(change, bounds);",
    replace: ": bounds.agent ? {} : judgeSchema(change, bounds);",
    tests: AFTER,
  },
  {
    name: "a proposal that a mandate approves saw what was there before our own apply",
    file: "lib/changes/examine_proposal.ts",
    find: "await examinePlaces(deps, spelled, true);",
    replace: "await examinePlaces(deps, spelled, isJudged);",
    tests: WRITES,
  },
  {
    name: "a change outside its mandate is not offered to people",
    file: "lib/changes/standings.ts",
    find: "return Promise.all(proven.map((change, index) => asInside(judging, change, records[index]!)));",
    replace:
      "return Promise.all(proven.map(async (change, index) => (judging && records[index] && asInside ? change : change)));",
    tests: PEOPLE,
  },
  {
    name: "a mandate without a record is searched in what was read of the log alone",
    file: "lib/changes/mandates/read_mandate.ts",
    find: "(entries.length > 0 || isNamed) && !fold(entries)",
    replace: "entries.length > 0 && !isNamed && !fold(entries)",
    tests: LOST,
  },
  {
    name: "a consent that was signed before a lost end is taken again",
    file: "lib/changes/proof_input.ts",
    find: "lostAt !== undefined && Date.parse(at) < Date.parse(lostAt)",
    replace: "lostAt !== undefined && Date.parse(at) < 0",
    tests: LOG,
  },
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
    find: "change.proposer == null || normalizeName(change.proposer) !== bounds.agent",
    replace: 'change.proposer == null || normalizeName(change.proposer) === ""',
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
    file: "local/verify/mandate_state.ts",
    find: "if (isLoss(recorded)) return void applyLoss(mandate);",
    replace: "if (isLoss(recorded)) return void 0;",
    tests: FORGED,
  },
  {
    name: "a verifier takes values outside the schema of a mandate",
    file: "local/verify/mandate_bounds.ts",
    find: "schema === undefined || areValuesAllowed(sets, schema)",
    replace: "schema === undefined || areValuesAllowed(sets, {})",
    tests: FORGED,
  },
];
