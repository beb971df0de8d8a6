/** Building blocks of an intent's rules. */
import * as z from "zod";
import { INVISIBLE } from "../../kit/invisible.ts";
import { nonEmptyText, list } from "./fields.ts";
import { canBeApprover, findGroup, POLICY_APPLY_WHEN } from "./approver_name.ts";
import { normalizeName } from "./names.ts";
import { explainUnmatchable } from "./target_pattern.ts";

/** A number as JSON has it. */
export const finiteNumber = () => z.number("must be a finite number");
/** A whole number of at least `min`. */
export const integer = (min: number) =>
  z.int(`must be a whole number of ${min} or more`).min(min, `must be a whole number of ${min} or more`);
/** A day, or a moment with its offset. */
export const dateOrTime = () =>
  z.union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    "must be a date such as 2026-12-31, or a time such as 2026-12-31T18:00:00+01:00",
  );
export const targetPattern = () =>
  z
    .string("must be text")
    .regex(/^[A-Za-z0-9._:/*-]{1,200}$/, "must be a target of A-Z a-z 0-9 . _ : / -, with * for any characters")
    .check(({ value, issues }) => {
      const message = explainUnmatchable(value);
      if (message !== undefined) issues.push({ code: "custom", input: value, message });
    });
const nameSchema = (findProblem: (name: string) => string | undefined) =>
  nonEmptyText()
    .max(200, "must have 200 characters at most")
    .check(({ value, issues }) => {
      const message = findProblem(value);
      if (message !== undefined) issues.push({ code: "custom", input: value, message });
    })
    .transform(normalizeName);

/** The name of one person who can decide. */
export const approverName = () => nameSchema(findNameProblem);

/** A person who can decide, or a group of such, as `group:finance`. */
export const approverOrGroup = () =>
  nameSchema((name) => (findGroup(name) === undefined ? findNameProblem(name) : undefined));

/** A person who can apply, a group of such, or the intent's own `apply_when`. */
export const applierOrGroup = () =>
  nameSchema((name) =>
    findGroup(name) === undefined && normalizeName(name) !== POLICY_APPLY_WHEN ? findNameProblem(name) : undefined,
  );

/** Tenants that a rule applies to; an empty list is rejected. */
export const tenantList = () =>
  list(
    nonEmptyText()
      .normalize("NFC")
      .trim()
      .max(200, "must have 200 characters at most")
      .check(({ value, issues }) => {
        const message = findTenantProblem(value);
        if (message !== undefined) issues.push({ code: "custom", input: value, message });
      }),
  ).min(1, "must name a tenant, or be left out");

function findTenantProblem(tenant: string): string | undefined {
  if (INVISIBLE.test(tenant) || !tenant.isWellFormed())
    return "holds a control or invisible character, which no tenant may";
  if (tenant.includes(",")) return "holds a comma: a list has one tenant in each place";
  if (tenant.includes("*") && tenant !== "*")
    return "holds *: tenants have no wildcard; list each one, or leave tenants out for all of them";
  return undefined;
}

/** Explains why no request could have this name of an approver; undefined if one could. */
function findNameProblem(name: string): string | undefined {
  if (INVISIBLE.test(name) || !name.isWellFormed()) return "holds a control or invisible character, which no name may";
  if (name.includes(",")) return "holds a comma: a list has one name in each place";
  if (name.includes("*")) return "holds *: names have no wildcard; list each person";
  if (name.trim().startsWith("@")) return "begins with @: teams have no meaning here; list each person";
  if (/[<>]/.test(name)) return "holds < or >: write only the name that requests carry, such as ana@acme.example";
  if (findGroup(name) !== undefined) return "is a group: a group lists people";
  if (normalizeName(name).startsWith("idp:"))
    return "begins with idp:, and a group of the identity provider grants nothing; list people or a group of policy.groups";
  if (normalizeName(name).startsWith("agent:")) return "is an agent: agents never approve";
  return canBeApprover(name) ? undefined : "is no name that may approve";
}
