/** Context and flags of the OpenFeature Remote Evaluation Protocol. */
import * as z from "zod";

/** Context of an evaluation: the tenant, and the user attribute by which a split value is chosen. */
export const contextSchema = z
  .looseObject(
    {
      targetingKey: z
        .string("must be text")
        .optional()
        .describe("Tenant (with `--ofrep-tenant` the user); absent: values for all."),
    },
    "must be an object",
  )
  .describe("Tenant, and attributes of the user.");
export type Context = z.infer<typeof contextSchema>;

/** The user of an evaluation: the tenant, and the text of an attribute that distinguishes users. */
export interface FlagUser {
  tenant: string | undefined;
  unit(attribute: string): string | undefined;
}

/**
 * Reads a context. The targeting key is the tenant, and each value names the attribute that is its unit. If an attribute names
 * the tenant (`--ofrep-tenant`), the targeting key is the unit.
 */
export function readContext(context: Context = {}, tenantAttribute?: string): FlagUser {
  const readText = (name: string) => {
    const value = Object.hasOwn(context, name) ? context[name] : undefined;
    if (typeof value === "number") return String(value);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return tenantAttribute === undefined
    ? { tenant: readText("targetingKey"), unit: readText }
    : { tenant: readText(tenantAttribute), unit: () => readText("targetingKey") };
}

const metadata = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .describe("Source of the value: change, entry, digest, kind, tenant. During a rollout also `step`.");
const key = z.string().describe("The flag's key: the target.");
const errorDetails = z.string().describe("A sentence.");

/** A flag's value. */
export const successSchema = z
  .object({
    key,
    value: z.unknown().describe("The value, any JSON."),
    reason: z
      .enum(["SPLIT", "STATIC", "TARGETING_MATCH"])
      .describe(
        "`SPLIT`: by the user's share or arm. `TARGETING_MATCH`: the tenant's own value. `STATIC`: the value of all tenants.",
      ),
    variant: z
      .string()
      .optional()
      .describe("`on`, `off`, `value`, `treated`, `control`, or the user's share; absent for a split without a user."),
    metadata,
  })
  .describe("A flag's value.");

const CODES = ["PARSE_ERROR", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"] as const;

/** The error for a flag without a value. */
export const failureSchema = z
  .object({
    key,
    errorCode: z.enum(CODES).describe("The protocol's code."),
    errorDetails,
  })
  .describe("Why there is no value.");

/** A flag of a bulk answer. */
export const flagSchema = z.union([successSchema, failureSchema]);
export type Success = z.infer<typeof successSchema>;
export type Failure = z.infer<typeof failureSchema>;
