/** Queries over changes. */

const LISTS = ["test/lib/find/list_changes.test.ts"];

const FIND = ["test/lib/find/month.long.test.ts"];

export const query = [
  {
    file: "lib/find/run.ts",
    name: "a negated term finds what it should leave out",
    find: "term.holds(row, this.#context) !== term.negated",
    replace: "term.holds(row, this.#context)",
    tests: FIND,
  },
  {
    file: "lib/find/values.ts",
    name: "the moment at which a range ends belongs to it",
    find: "ms >= begin && ms < end",
    replace: "ms >= begin && ms <= end",
    tests: FIND,
  },
  {
    file: "lib/find/row.ts",
    name: "a consent that was revoked later counts as no decision",
    find: "decided: [undone, decided_at],",
    replace: "decided: [decided_at],",
    tests: FIND,
  },
  {
    file: "lib/find/change_index.ts",
    name: "what changed since the last query is not read again",
    find: 'if (value.change_id !== "") ids.add(value.change_id);',
    replace: "",
    tests: ["test/lib/find/change_index.test.ts"],
  },
  {
    file: "lib/chat/responder.ts",
    name: "chat answers an order with a list and not with the page of the change",
    find: "if (act) return describeActionPage(deps, act, caller);",
    replace: "",
    tests: ["test/lib/chat/responder.long.test.ts"],
  },
  {
    file: "lib/find/list_changes.ts",
    name: "a period's end is passed over by a query",
    find: "(to === undefined || at < to)",
    replace: "true",
    tests: LISTS,
  },
  {
    file: "lib/find/list_changes.ts",
    name: "a search for 1 finds 10 to 19 as well",
    find: "(/^\\p{N}+$|\\p{Script=Han}/u.test(one) ? one : `${one}*`)",
    replace: "`${one}*`",
    tests: LISTS,
  },
  {
    file: "lib/find/list_changes.ts",
    name: "a search for signs alone is taken",
    find: '.refine((text) => /[\\p{L}\\p{N}]/u.test(text), "must hold a letter or a digit")',
    replace: "",
    tests: LISTS,
  },
  {
    file: "lib/find/list_changes.ts",
    name: "who denied a change counts as one who approved it",
    find: "approver: listApprovers(row),",
    replace: "approver: [...listApprovers(row), findDenier(row)],",
    tests: LISTS,
  },
];
