/** Completion of a query while it is typed, and the texts that are shown with an answer. */
import { describe, expect, test } from "vitest";
import { ServiceError } from "../../local/ui/core/api.ts";
import {
  makePrefixQuery,
  parseGroup,
  listNamedQueries,
  describeQueryFault,
  describeTimes,
} from "../../local/ui/domain/find_answer.ts";
import { completeQuery } from "../../local/ui/domain/query_completion.ts";
import { describeQuery } from "../../lib/find/found_text.ts";

/** Fields of queries; a value with a space or a comma is completed in quotation marks. */
const FIELDS = [
  { field: "is", takes: "words" as const, values: ["pending", "approved", "mine"] },
  { field: "risk", takes: "words" as const, values: ["low", "medium", "high"] },
  { field: "tenant", takes: "names" as const, values: ["t1", "North Wind", "a,b"] },
  { field: "rolledback", takes: "date" as const, values: ["today", "last-week"] },
  { field: "users", takes: "number" as const, values: [] },
];

describe("completion of a query", () => {
  test.each([
    ["", ["is:", "risk:", "tenant:", "rolledback:", "users:"]],
    ["deposit ris", ["deposit risk:"]],
    ["r", ["risk:", "rolledback:", "users:"]],
    ["-ri", ["-risk:"]],
    ["risk:", ["risk:low ", "risk:medium ", "risk:high "]],
    ["a RISK:h", ["a risk:high "]],
    // A colon of Chinese keyboards.
    ["risk：h", ["risk:high "]],
    ["risk:high", []],
    ["-risk:low,h", ["-risk:low,high "]],
    ["tenant:n", ['tenant:"North Wind" ']],
    ['tenant:"north w', ['tenant:"North Wind" ']],
    // A quoted value cannot follow a comma.
    ["tenant:t1,n", []],
    ["rolledback:>l", ["rolledback:>last-week "]],
    ["rolledback:2026-10-01..to", ["rolledback:2026-10-01..today "]],
    ["colour:r", []],
    // Within quotation marks no field begins.
    ['"is ris', []],
  ])("completes %s", (typed, expected) => {
    expect(completeQuery(typed, FIELDS)).toEqual(expected);
  });

  test("the last plain word of at least two characters becomes a prefix search", () => {
    expect(["load te", "押金", "load t", "risk:hi", '"load te', "te*", ""].map(makePrefixQuery)).toEqual([
      "load te*",
      "押金*",
      "load t",
      "risk:hi",
      '"load te*',
      "te*",
      "",
    ]);
  });
});

describe("an answer of find", () => {
  test("durations are described in a sentence, and not at all if nothing was measured", () => {
    expect(describeTimes({ total: 9, timed: 8, median: 3 * 3600, max: 2 * 86_400 })).toBe(
      "Median 3 h, longest 2 days, over 8 of 9.",
    );
    expect([describeTimes({ total: 9, timed: 0, median: null, max: null }), describeTimes({ total: 9 })]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("the group is read from the normalised query", () => {
    expect(["by:agents group:proposer", "group:week", "subgroup:week"].map(parseGroup)).toEqual([
      "proposer",
      "week",
      undefined,
    ]);
  });

  test("only an error about the query is described in a sentence", () => {
    const makeFieldError = (field: string) =>
      new ServiceError({
        error: "…",
        code: "invalid_field",
        status: 400,
        fields: [{ field, message: "has no field x: did you mean is:?" }],
      });
    expect(describeQueryFault(makeFieldError("q"))).toBe("The query has no field x: did you mean is:?");
    expect([describeQueryFault(makeFieldError("tz")), describeQueryFault(new Error("q"))]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("the queries in a reply are listed once each", () => {
    const reply = [
      describeQuery("tenant:a – b", 2),
      "- Query: no",
      describeQuery("", 9),
      describeQuery("tenant:a – b", 2),
      describeQuery("10 euro", 0),
    ];
    expect(listNamedQueries(reply.join("\n"))).toEqual(["tenant:a – b", "10 euro"]);
  });
});
