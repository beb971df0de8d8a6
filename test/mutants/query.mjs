/** The query over changes, and what chat makes of questions. */

const LISTS = ["test/lib/pulse/query/list_changes.test.ts"];
const QUERIES = ["test/lib/pulse/query/change_query.test.ts"];
const QUESTIONS = ["test/lib/chat/questions.test.ts"];

const PEOPLE = ["test/lib/chat/two_people.test.ts"];
const ODD = ["test/lib/chat/odd_questions.test.ts"];

export const query = [
  {
    file: "lib/chat/question/people.ts",
    name: "of two people who are named together the second is passed over",
    find: "    names.push(next.name);\n",
    replace: "",
    tests: PEOPLE,
  },
  {
    file: "lib/chat/question/people.ts",
    name: "people in different roles are taken as either of them",
    find: "if (!isJoined || next.role !== first.role ||",
    replace: "if (",
    tests: ODD,
  },
  {
    file: "lib/governance/rules/names.ts",
    name: "of several people the first is looked for",
    find: "[names].flat().some(",
    replace: "[names].flat().slice(0, 1).some(",
    tests: [...QUERIES, ...PEOPLE],
  },
  {
    file: "lib/chat/question/words_held.ts",
    name: "as many words as somebody writes are looked for in every change",
    find: "const LOOKED_FOR = 12;",
    replace: "const LOOKED_FOR = 1200;",
    tests: ["test/lib/chat/rules.test.ts"],
    only: "twelve",
  },
  {
    file: "lib/chat/question/periods.ts",
    name: "a Monday and a Wednesday are taken for the days between them",
    find: "return opens || first.to === second.from ||",
    replace: "return opens || first.to !== second.from ||",
    tests: ODD,
  },
  {
    file: "lib/chat/answers/figures.ts",
    name: "tasks that are done are told as open",
    find: "first.filter(isOpen)",
    replace: "first",
    tests: ODD,
    only: "tasks",
  },
  {
    file: "lib/pulse/query/matches.ts",
    name: "a period's end is passed over by a query",
    find: "(to === undefined || time < to)",
    replace: "true",
    tests: QUERIES,
  },
  {
    file: "lib/pulse/query/matches.ts",
    name: "a search for 1 finds 10 to 19 as well",
    find: "` ${word} ` : ` ${word}`",
    replace: "` ${word}` : ` ${word}`",
    tests: LISTS,
  },
  {
    file: "lib/pulse/query/asked.ts",
    name: "a search for signs alone is taken",
    find: '.refine((text) => /[\\p{L}\\p{N}]/u.test(text), "must hold a letter or a digit")',
    replace: "",
    tests: LISTS,
  },
  {
    file: "lib/pulse/query/row.ts",
    name: "who denied a change counts as one who approved it",
    find: "approver: approversOf(row),",
    replace: "approver: [...approversOf(row), row.approver],",
    tests: QUERIES,
  },
  {
    file: "lib/chat/answers/waiting.ts",
    name: "one's own proposal waits for one's consent",
    find: "if (awaits(change, person, intent)) {",
    replace: "if (awaits(change, '', intent) || approvesOwn(change, person, intent.policy)) {",
    tests: QUESTIONS,
  },
  {
    file: "lib/chat/rules.ts",
    name: "a name that nothing on record has is passed over",
    find: "for (const kind of strange.length + turned.length > 0 ? [] : KINDS) {",
    replace: "for (const kind of KINDS) {",
    tests: QUESTIONS,
  },
  {
    file: "lib/chat/answers/waiting.ts",
    name: "what waits for somebody is not told of which tenant it is",
    find: "const about = say.about(narrowing);",
    replace: 'const about = "";',
    tests: ["test/lib/chat/odd_questions.test.ts"],
  },
  {
    file: "lib/chat/question/alternatives.ts",
    name: "of what happened or else, the one is passed over",
    find: "return [or + 1, or - 1].map(",
    replace: "return [or + 1].map(",
    tests: ["test/lib/chat/odd_questions.test.ts"],
  },
];
