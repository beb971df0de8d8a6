/** Fields of a scenario, for the table of docs/intent.md, which test/docs/field_tables.test.ts generates from this file. */
import type { Scenario, Step } from "../../../local/scenarios/read.ts";

type Field = keyof Scenario | `given.as` | `….${keyof Step}`;

/** Sentences of Markdown by field; `…` stands for `given[]` and `when`. */
export const SCENARIO_FIELDS: Readonly<Record<Field, readonly [value: string, meaning: string]>> = {
  name: ["text", "what the scenario shows"],
  given: ["a list of requests", "earlier requests, in order; each must succeed"],
  "given.as": ["a name", "a name for the change that the request makes; `$name` is its id in later paths and bodies"],
  when: ["a request", "the request whose answer is checked"],
  "….by": [
    "a name",
    "the caller of a request: an agent of the intent, or a person. Without `by`, names in the body are only claimed",
  ],
  "….at": [
    "a time",
    "the time of a request; by default that of the request before, else the first time in the scenario",
  ],
  "….request": ["a method and a path", "`POST /api/product/propose`, `GET /api/product/changes/$c1`"],
  "….body": ["an object", "the fields of a POST; `$$name` stands for the text `$name`"],
  expect: [
    "members of the answer",
    "the members that are compared, and `status`, the HTTP status; the answer may have others",
  ],
};
