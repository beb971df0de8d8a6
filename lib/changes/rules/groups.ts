/** Groups of people: `group:finance` stands for its members wherever an intent takes a list of names. */
import * as z from "zod";
import { findGroup } from "./approver_name.ts";
import { list, suggestWord } from "./fields.ts";
import { approverName } from "./intent_parts.ts";

/** Groups by name, each with the people in it. */
export const groupsSchema = () =>
  z.record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, "must be a lower-case word of letters, digits, _ and -"),
    list(approverName()).min(1, "must name somebody"),
    "must be an object",
  );

/** Reports an invalid rule: the path of its field, and a message. */
export type ReportIssue = (path: PropertyKey[], message: string) => void;

/** Returns `policy` with each group in its lists of names replaced by its members. Reports groups that do not exist. */
export function expandGroups<P extends { groups: Readonly<Record<string, readonly string[]>> }>(
  policy: P,
  reportIssue: ReportIssue,
): P {
  const { groups } = policy;
  const groupNames = Object.keys(groups);
  const listMembers = (name: string, path: PropertyKey[]): readonly string[] => {
    const group = findGroup(name);
    if (group === undefined) return [name];
    if (Object.hasOwn(groups, group)) return groups[group]!;
    const hint = groupNames.length > 0 ? suggestWord(group, groupNames) : "there is none";
    reportIssue(path, `is no group of policy.groups: ${hint}`);
    return [];
  };
  return mapNameLists(policy, ["policy"], (names, path) => [
    ...new Set(names.flatMap((name, index) => listMembers(name, [...path, index]))),
  ]);
}

/** Returns a rule with every list of names in it mapped; `path`: the path of the rule in the intent. */
export function mapNameLists<T>(
  rule: T,
  path: PropertyKey[],
  map: (names: readonly string[], path: PropertyKey[]) => readonly string[],
): T {
  if (typeof rule !== "object" || rule === null) return rule;
  const mapMember = (key: string | number, inner: unknown): unknown => mapNameLists(inner, [...path, key], map);
  if (!Array.isArray(rule))
    return Object.fromEntries(Object.entries(rule).map(([field, inner]) => [field, mapMember(field, inner)])) as T;
  return (isNameList(path) ? map(rule, path) : rule.map((inner, index) => mapMember(index, inner))) as T;
}

/** Returns true for the path of a list of names in `policy`. Schemas in `policy.targets` may have members of the same names. */
const isNameList = (path: readonly PropertyKey[]): boolean =>
  path[1] !== "targets" && (path.at(-1) === "approvers" || path.at(-2) === "permissions" || path.at(-2) === "groups");
