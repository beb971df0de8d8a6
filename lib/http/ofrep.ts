/** Values as flags: the OpenFeature Remote Evaluation Protocol, 0.3.0. A target is a flag; the context names tenant and user. */
import * as z from "zod";
import { tenantPrefix, valueKey } from "../projections/values.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { type Answer, answer } from "./answer.ts";
import { type Refusals, restOf } from "./endpoint.ts";
import { line, target } from "../kit/fields.ts";
import type { AppError } from "../kit/errors.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { findBucket } from "../rollout/bucket.ts";
import { findShare, readSplit } from "../rollout/split_value.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import {
  EVERY_TENANT,
  type Governed,
  NOT_HELD,
  readControl,
  readExposure,
  settled,
  type Value,
} from "../operations/values.ts";

/** The path of one flag; providers do not all encode a key that holds slashes. */
export const FLAG_PATH = "/ofrep/v1/evaluate/flags/:key";

/** Context of an evaluation: the tenant, and the attribute that a split value goes by. */
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
type Context = z.infer<typeof contextSchema>;

/** A caller of an evaluation: its tenant, and the text of the attribute that tells users apart. */
export interface Evaluated {
  tenant: string | undefined;
  unit(attribute: string): string | undefined;
}

/**
 * Reads a context. The targeting key is the tenant, and the unit the attribute that the value names; where an attribute names
 * the tenant (`--ofrep-tenant`), the unit is the targeting key.
 */
export function readContext(context: Context = {}, tenantAttribute?: string): Evaluated {
  const text = (name: string) => {
    const value = Object.hasOwn(context, name) ? context[name] : undefined;
    return typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
  };
  return tenantAttribute === undefined
    ? { tenant: text("targetingKey"), unit: text }
    : { tenant: text(tenantAttribute), unit: () => text("targetingKey") };
}

const metadata = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .describe("Its source (in a rollout that, for both arms) and `step`.");
const key = z.string().describe("The flag's key: the target.");
const errorDetails = z.string().describe("A sentence.");

/** A flag's value. */
export const successSchema = z
  .object({
    key,
    value: z.unknown().describe("The value, any JSON."),
    reason: z
      .enum(["SPLIT", "STATIC", "TARGETING_MATCH"])
      .describe("`SPLIT` by the user's share, `TARGETING_MATCH` of the tenant, else `STATIC`."),
    variant: z
      .string()
      .optional()
      .describe("`on`, `off`, `value`, `treated`, `control`, or the share; absent without a user."),
    metadata,
  })
  .describe("A flag's value.");

const CODES = ["PARSE_ERROR", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"] as const;

/** Why there is none. */
export const failureSchema = z
  .object({
    key,
    errorCode: z.enum(CODES).describe("The protocol's code."),
    errorDetails,
  })
  .describe("Why there is no value.");

/** A flag of a bulk answer. */
export const flagSchema = z.union([successSchema, failureSchema]);
type Success = z.infer<typeof successSchema>;
type Failure = z.infer<typeof failureSchema>;

/** More flags, or more bytes of them, are not answered at once. */
const MOST_FLAGS = 1000;

const tenant = line(200);

/** The values of a tenant, those meant for every tenant where it has none of its own. No tenant is called what none can be. */
function tenantsOf(targetingKey: string | undefined): string[] {
  const { data: named } = tenant.safeParse(targetingKey);
  return named === undefined || named === EVERY_TENANT ? [EVERY_TENANT] : [named, EVERY_TENANT];
}

/** One flag, or why there is no value of it. */
export async function evaluateFlag(deps: ChangesDeps, flag: string, asked: Evaluated): Promise<Success | Failure> {
  const tenants = target().safeParse(flag).success ? tenantsOf(asked.tenant) : [];
  const places = tenants.map((tenant_id) => valueKey(tenant_id, flag));
  return settled(deps, async (read, shown, lacking) => {
    const found = await read.getMany("values", places);
    const rollouts: Arm[] = [];
    for (const [index, tenant_id] of tenants.entries()) {
      const source = found[index]?.value;
      if (source) {
        const arm = chooseArm((await shown([{ place: places[index]!, source }]))[0]!, asked);
        rollouts.push(arm);
        if (arm.value) return flagOf(arm.value, rollouts, flag, asked) ?? ofNull(flag);
      }
      // Another tenant's value must not stand in for one that was removed from the store.
      else if (await lacking({ tenant_id, target: flag })) return withheldFlag(flag, NOT_HELD);
    }
    return { key: flag, errorCode: "FLAG_NOT_FOUND", errorDetails: `nothing applied sets ${flag}` };
  });
}

/** All flags of a tenant in the order of their keys; undefined where they are too many. */
export const evaluateFlags = (deps: ChangesDeps, asked: Evaluated): Promise<(Success | Failure)[] | undefined> =>
  settled(deps, async (read, shown, lacking) => {
    const chosen = new Map<string, Arm[]>();
    const tenants = tenantsOf(asked.tenant);
    for (const one of tenants) {
      const prefix = tenantPrefix(one);
      const rows = await read.list("values", { prefix, limit: MOST_FLAGS + 1 });
      const open = rows.filter(({ id }) => !chosen.get(id.slice(prefix.length))?.at(-1)!.value);
      const names = new Set([...chosen.keys(), ...open.map(({ id }) => id.slice(prefix.length))]);
      if (names.size > MOST_FLAGS) return undefined;
      const values = await shown(open.map(({ id, value }) => ({ place: id, source: value })));
      for (const [index, { id }] of open.entries()) {
        const name = id.slice(prefix.length);
        chosen.set(name, [...(chosen.get(name) ?? []), chooseArm(values[index]!, asked)]);
      }
    }
    const flags: (Success | Failure)[] = [];
    for (const arms of chosen.values()) {
      const value = arms.at(-1)!.value;
      if (!value) continue;
      const { target, tenant_id } = value;
      const isInstead =
        arms.length === 1 && tenant_id !== tenants[0] && (await lacking({ tenant_id: tenants[0]!, target }));
      const shownFlag = isInstead ? withheldFlag(target, NOT_HELD) : flagOf(value, arms, target, asked);
      if (shownFlag) flags.push(shownFlag);
    }
    flags.sort((a, b) => (a.key < b.key ? -1 : 1));
    return bytesOfText(JSON.stringify(flags)) > PAGE_BYTES ? undefined : flags;
  });

/** The protocol has no null: a client goes on with the value in its own code. */
const ofNull = (key: string): Failure => ({
  key,
  errorCode: "FLAG_NOT_FOUND",
  errorDetails: `the value of ${key} is null, which no flag can be`,
});

/** The value of a target for a user, null where it has none for them; `rollout` and `variant` say in which arm they are counted. */
interface Arm {
  value: Value | null;
  rollout?: Governed;
  variant?: "treated" | "control";
}

/** Chooses between the value of a rollout and the one before it. A user without the unit gets that one, uncounted. */
function chooseArm(value: Value, asked: Evaluated): Arm {
  const exposure = value.state === "governed" ? readExposure(value) : undefined;
  if (value.state === "withheld" || !exposure) return { value };
  const { unit: attribute, salt, share } = exposure;
  const unit = asked.unit(attribute);
  if (unit === undefined) return { value: readControl(value) };
  return findBucket(salt, unit) < share
    ? { value, rollout: value, variant: "treated" }
    : { value: readControl(value), rollout: value, variant: "control" };
}

/** Returns a value as a flag, undefined for null. A tenant's own value hides the one for all, also when it is withheld or null. */
function flagOf(value: Value, arms: readonly Arm[], flag: string, asked: Evaluated): Success | Failure | undefined {
  if (value.state === "withheld") return withheldFlag(flag, value.problem);
  const given = chooseValue(value, asked);
  if (given.value === null) return undefined;
  const { rollout, variant } = arms.find((arm) => arm.rollout) ?? {};
  if (!rollout || !variant) return { key: flag, ...given, metadata: describeSource(value) };
  // Both arms are counted for the change that is rolled out.
  const metadata = { ...describeSource(rollout), step: readExposure(rollout)!.step };
  return { key: flag, value: given.value, reason: "SPLIT", variant, metadata };
}

const describeSource = ({ change_id, applied_at, entry, digest, kind, tenant_id }: Governed): Success["metadata"] => ({
  ...{ change_id, applied_at, entry, digest, kind, tenant_id },
  flagSetId: tenant_id,
  version: change_id,
});

/** Returns the value of who asks. A split value goes by the user's share; who names no user gets the last one, uncounted. */
function chooseValue(
  { value, target, tenant_id }: Governed,
  asked: Evaluated,
): Pick<Success, "value" | "reason" | "variant"> {
  const split = readSplit(value);
  const unit = split && asked.unit(split.unit);
  const reason = tenant_id === EVERY_TENANT ? "STATIC" : "TARGETING_MATCH";
  if (!split) return { value, reason, variant: value === true ? "on" : value === false ? "off" : "value" };
  if (unit === undefined) return { value: split.shares.at(-1)!.value, reason };
  const { value: own, variant } = findShare(split, target, unit);
  return { value: own, reason: "SPLIT", variant };
}

const withheldFlag = (key: string, problem: string): Failure => ({
  key,
  errorCode: "GENERAL",
  errorDetails: `the value is withheld: ${problem}`,
});

/** The status of an answer about one flag. */
export const flagStatus = (flag: Success | Failure): 200 | 404 | 500 =>
  !("errorCode" in flag) ? 200 : flag.errorCode === "FLAG_NOT_FOUND" ? 404 : 500;

/** Errors of one flag. */
export const flagRefusals: Refusals = {
  bodies: {
    400: failureSchema,
    401: null,
    403: null,
    404: failureSchema,
    413: failureSchema,
    500: failureSchema,
    503: failureSchema,
  },
  of: (error, request) => refusal(error, { key: keyOf(request) }),
};

const bulkFailure = failureSchema.omit({ key: true });

/** Errors of all flags. */
export const bulkRefusals: Refusals = {
  bodies: { 400: bulkFailure, 401: null, 403: null, 413: bulkFailure, 500: bulkFailure, 503: bulkFailure },
  of: (error) => refusal(error, {}),
};

function keyOf(request: Request): string {
  try {
    return restOf(request, FLAG_PATH);
  } catch {
    return "";
  }
}

/** Answers an error: 401 and 403 with their status only, any other with a code of the protocol and a sentence. */
function refusal(error: AppError, named: { key?: string }): Answer | Response {
  const { status, code, message, headers } = error;
  if (status === 401 || status === 403)
    return new Response(null, {
      status,
      headers: { "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers },
    });
  const errorCode =
    code === "invalid_field" ? (isAbout(error, "context") ? "INVALID_CONTEXT" : "PARSE_ERROR") : "GENERAL";
  return answer({ ...named, errorCode, errorDetails: message }, status, headers);
}

const isAbout = ({ details }: AppError, name: string): boolean =>
  ((details["fields"] ?? []) as { field: string }[]).some(({ field }) => field.split(".")[0] === name);

/** 400 where there are too many flags to answer at once. */
export const tooManyFlags = (): Answer =>
  answer(
    {
      errorCode: "GENERAL",
      errorDetails: `there are more than ${MOST_FLAGS} flags, or more than ${PAGE_BYTES} bytes of them; ask for each by its key, or read GET /api/product/values in pages`,
    },
    400,
  );
