/** Reads files of scenarios, in YAML or JSON. */
import { readFile } from "node:fs/promises";
import { type Document, isAlias, isMap, isSeq, LineCounter, type Node, type Pair, parseDocument } from "yaml";
import * as z from "zod";
import { nonEmptyText, list, strictObject } from "../../lib/changes/rules/fields.ts";

const time = () => z.iso.datetime({ offset: true, error: "must be a time such as 2026-12-24T10:00:00+01:00" });

const step = {
  by: nonEmptyText()
    .optional()
    .describe("The caller: a person as the log-in names them, or an agent of the intent; absent: no one is named."),
  at: time().optional().describe("When; absent: when the request before was sent, of the first the next stated time."),
  request: z
    .string("must be text")
    .regex(/^(?:GET|POST) \/\S*$/, "must be a method and a path, as POST /api/product/propose")
    .describe("Method and path; $name stands for the id of an earlier change."),
  body: z
    .record(z.string(), z.unknown(), "must be an object")
    .optional()
    .describe("The fields of a POST; $name stands for the id of an earlier change."),
};

const scenarioSchema = () =>
  strictObject({
    name: nonEmptyText().describe("What the scenario shows."),
    given: list(
      strictObject({
        as: z
          .string("must be text")
          .regex(/^[A-Za-z_]\w*$/, "must be a name of letters, digits and _, as c1")
          .optional()
          .describe("A name for the change that the request makes; $name then stands for its id."),
        ...step,
      }),
    )
      .default([])
      .describe("Earlier requests, in order; each must be accepted."),
    when: strictObject(step).describe("The request whose answer is judged."),
    expect: z
      .record(z.string(), z.unknown(), "must be an object")
      .refine((members) => Object.keys(members).length > 0, "must name a member of the answer")
      .refine(
        ({ status = 200 }) => typeof status === "number",
        "must have the HTTP status in status, a number; the status of a change is change.status",
      )
      .describe("Members of the answer, status being the HTTP status; others may be there too."),
  });

/** One scenario. */
export type Scenario = z.output<ReturnType<typeof scenarioSchema>>;
/** A request of a scenario. */
export type Step = Scenario["when"];

/** Scenarios, and the lines of their parts. */
export interface ScenarioFile {
  scenarios: Scenario[];
  /** Returns the line of a part, counted from 1; for a missing part, that of its parent. */
  lineOf(path: readonly PropertyKey[]): number;
}

/** The file has no valid scenarios; the message names the line and the scenario. */
export class ScenariosInvalid extends Error {
  override readonly name = "ScenariosInvalid";
}

/** Reads a file of scenarios. Errors: `ScenariosInvalid`, and those of reading a file. */
export const readScenarios = async (path: string): Promise<ScenarioFile> =>
  parseScenarios(await readFile(path, "utf8"));

/** Parses scenarios. Errors: `ScenariosInvalid`. */
export function parseScenarios(text: string): ScenarioFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, merge: true });
  const [error] = document.errors;
  if (error) throw new ScenariosInvalid(`line ${lineCounter.linePos(error.pos[0]).line}: ${error.message}`);
  const lineOf = (path: readonly PropertyKey[]): number => lineCounter.linePos(findOffset(document, path)).line;
  const stated: unknown = document.toJS();
  const { data, error: invalid } = list(scenarioSchema())
    .min(1, "must hold a scenario")
    .safeParse(stated, { reportInput: true });
  const problems = invalid ? invalid.issues.map(toProblem) : findTimeProblems(data!);
  if (problems.length === 0) return { scenarios: data!, lineOf };
  throw new ScenariosInvalid(
    problems
      .map(({ path, message, stray }) => {
        const line = lineOf(stray === undefined ? path : [...path, stray]);
        return `line ${line}${formatScenario(stated, path)}: ${formatField(path)} ${message}`;
      })
      .join("; "),
  );
}

interface Problem {
  path: PropertyKey[];
  message: string;
  /** An unknown field at `path`, whose line is reported. */
  stray?: string | undefined;
}

function toProblem(issue: z.core.$ZodIssue): Problem {
  const { path, message } = issue;
  // Only the first of several unknown fields is reported.
  if (issue.code === "unrecognized_keys") return { path, message, stray: issue.keys[0] };
  return { path, message: issue.code === "invalid_type" && issue.input === undefined ? "is required" : message };
}

/** Finds requests whose time is before that of an earlier one. */
function findTimeProblems(scenarios: readonly Scenario[]): Problem[] {
  return scenarios.flatMap(({ given, when }, index) => {
    let latest = -Infinity;
    return [...given, when].flatMap(({ at }, position): Problem[] => {
      const earlierLatest = latest;
      latest = Math.max(latest, at === undefined ? -Infinity : Date.parse(at));
      if (at === undefined || Date.parse(at) >= earlierLatest) return [];
      const path = position < given.length ? [index, "given", position, "at"] : [index, "when", "at"];
      return [{ path, message: "is before the time of an earlier request" }];
    });
  });
}

const formatField = ([index, ...path]: readonly PropertyKey[]): string =>
  path.join(".") || (index === undefined ? "the file" : "the scenario");

function formatScenario(stated: unknown, [index]: readonly PropertyKey[]): string {
  if (index === undefined) return "";
  // A scenario may be anything here, also null, since the file is not valid.
  const name: unknown = Object((stated as object[])[Number(index)]).name;
  return `, scenario ${typeof name === "string" ? JSON.stringify(name) : Number(index) + 1}`;
}

/** Returns the offset of a part in the text; of a member, that of its name. */
function findOffset(document: Document.Parsed, path: readonly PropertyKey[]): number {
  let node: Node | null | undefined = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap<Node, Node | null>(node)) {
      const pair: Pair<Node, Node | null> | undefined = node.items.find(({ key }) => String(key) === String(part));
      if (!pair) break;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(node)) {
      node = node.items[Number(part)];
      offset = node?.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}
