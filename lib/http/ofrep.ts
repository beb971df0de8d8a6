/** Serves values as flags by the OpenFeature Remote Evaluation Protocol 0.3.0. A target is a flag; the context has tenant and user. */
import { tenantPrefix, valueKey } from "../projections/values.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { type Answer, answer, textAnswer } from "./answer.ts";
import type { HttpDeps } from "./deps.ts";
import { type ErrorFormat, readPathRest } from "./endpoint.ts";
import { line, target } from "../kit/fields.ts";
import type { AppError } from "../kit/errors.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import {
  EVERY_TENANT,
  type GovernedValue,
  runWithStableValues,
  type WithheldValue,
  withholdMissing,
} from "../operations/values.ts";
import { parseIfNoneMatch, notModified } from "./if_none_match.ts";
import { type Context, type FlagUser, failureSchema, readContext } from "./ofrep_schemas.ts";
import {
  type FlagChoice,
  createFlagChoice,
  type FlagsChoice,
  createFlagsChoice,
  canBeAbsent,
  type EvaluatedFlag,
  toEvaluatedFlag,
  type EvaluatedFlags,
} from "./flag_choice.ts";
import { claimMemory, evaluateOnce, createEvaluation, type Evaluation } from "./flag_memory.ts";

/** The path of all flags. */
export const FLAGS_PATH = "/ofrep/v1/evaluate/flags";

/** The path of one flag; some providers do not encode the slashes of a key. */
export const FLAG_PATH = `${FLAGS_PATH}/:key`;

/** Flags in one answer. */
const MAX_FLAGS = 1000;

const tenant = line(200);

/** Names that need no normalizing, which nearly every request has. */
const PLAIN_NAME = /^[\w.:-]{1,200}$/;

/** Lists the tenants whose values apply: the tenant itself, if its name is valid, before all tenants. */
function listTenants(targetingKey = EVERY_TENANT): string[] {
  const name = PLAIN_NAME.test(targetingKey) ? targetingKey : tenant.safeParse(targetingKey).data;
  return name === undefined || name === EVERY_TENANT ? [EVERY_TENANT] : [name, EVERY_TENANT];
}

/** Evaluates one flag; without a value the result is an error with the reason. */
export const evaluateFlag = async (deps: ChangesDeps, flag: string, user: FlagUser): Promise<EvaluatedFlag> => {
  const tenants = listTenants(user.tenant);
  const { choose, results } = await evaluateOnce(deps, `flag\n${tenants[0]}\n${flag}`, () =>
    readFlag(deps, flag, tenants),
  );
  return (
    results[choose(user)] ??
    toEvaluatedFlag({ key: flag, errorCode: "FLAG_NOT_FOUND", errorDetails: `nothing applied sets ${flag}` })
  );
};

/** Reads the values of a flag for these tenants, up to the first one that every user has. */
const readFlag = (deps: ChangesDeps, flag: string, allTenants: readonly string[]): Promise<Evaluation<FlagChoice>> => {
  const tenants = target().safeParse(flag).success ? allTenants : [];
  const keys = tenants.map((tenant_id) => valueKey(tenant_id, flag));
  return runWithStableValues(deps, async (read, readValues, isMissing) => {
    const sources = await read.getMany("values", keys);
    const values: (GovernedValue | WithheldValue)[] = [];
    for (const [index, tenant_id] of tenants.entries()) {
      const source = sources[index]?.value;
      if (source) values.push(...(await readValues([{ key: keys[index]!, source }])));
      // Another tenant's value must not stand in for one that was removed from the store.
      else if (await isMissing({ tenant_id, target: flag })) values.push(withholdMissing({ tenant_id, target: flag }));
      if (values.length > 0 && !canBeAbsent(values.at(-1)!)) break;
    }
    return createEvaluation(read, [values], createFlagChoice(values, flag));
  });
};

/** Evaluates all flags of a tenant, in the order of their keys; undefined if they are too many for one answer. */
export const evaluateFlags = async (deps: ChangesDeps, user: FlagUser): Promise<EvaluatedFlags | undefined> => {
  const tenants = listTenants(user.tenant);
  return (await evaluateOnce(deps, `flags\n${tenants[0]}`, () => readFlags(deps, tenants)))(user);
};

const readFlags = (deps: ChangesDeps, tenants: readonly string[]): Promise<Evaluation<FlagsChoice>> =>
  runWithStableValues(deps, async (read, readValues, isMissing) => {
    const valuesByFlag = new Map<string, (GovernedValue | WithheldValue)[]>();
    for (const tenant_id of tenants) {
      const prefix = tenantPrefix(tenant_id);
      const rows = await read.list("values", { prefix, limit: MAX_FLAGS + 1 });
      const candidates = rows.filter(({ id }) => (valuesByFlag.get(id.slice(prefix.length)) ?? []).every(canBeAbsent));
      const names = new Set([...valuesByFlag.keys(), ...candidates.map(({ id }) => id.slice(prefix.length))]);
      if (names.size > MAX_FLAGS) return createEvaluation<FlagsChoice>(read, [], () => undefined);
      const values = await readValues(candidates.map(({ id, value }) => ({ key: id, source: value })));
      for (const [index, { id }] of candidates.entries()) {
        const name = id.slice(prefix.length);
        const earlier = valuesByFlag.get(name) ?? [];
        const value = values[index]!;
        // As in `readFlag`, the value of all tenants must not stand in for one that was removed from the store.
        const isSubstitute = earlier.length === 0 && tenant_id !== tenants[0];
        const missing = { tenant_id: tenants[0]!, target: value.target };
        valuesByFlag.set(name, [
          ...earlier,
          isSubstitute && (await isMissing(missing)) ? withholdMissing(missing) : value,
        ]);
      }
    }
    const all = [...valuesByFlag.values()];
    const mayCache = (bytes: number) => claimMemory(deps.store, bytes);
    const choose = createFlagsChoice(
      all.map((values) => createFlagChoice(values)),
      { sha256: deps.sha256, mayCache },
    );
    return createEvaluation(read, all, choose);
  });

/** Dependencies and request of an evaluation. */
interface EvaluationCall {
  deps: ChangesDeps & Pick<HttpDeps, "ofrepTenant">;
  request: Request;
}

/** Answers the evaluation of one flag. */
export async function answerFlag(
  { key, context }: { key: string; context?: Context | undefined },
  { deps }: Pick<EvaluationCall, "deps">,
): Promise<Answer> {
  const result = await evaluateFlag(deps, key, readContext(context, deps.ofrepTenant));
  return textAnswer(result.text, flagStatus(result));
}

/** Answers the evaluation of all flags of a tenant. */
export async function answerFlags(
  { context }: { context?: Context | undefined },
  { deps, request }: EvaluationCall,
): Promise<Answer> {
  const results = await evaluateFlags(deps, readContext(context, deps.ofrepTenant));
  if (!results) return tooManyFlags();
  const { text, tag } = results;
  return parseIfNoneMatch(request)?.(tag) ? notModified(tag) : textAnswer(text, 200, { etag: tag });
}

function flagStatus({ flag }: EvaluatedFlag): 200 | 404 | 500 {
  if (!("errorCode" in flag)) return 200;
  return flag.errorCode === "FLAG_NOT_FOUND" ? 404 : 500;
}

/** Errors of one flag. */
export const flagErrorFormat: ErrorFormat = {
  bodies: {
    400: failureSchema,
    401: null,
    403: null,
    404: failureSchema,
    413: failureSchema,
    500: failureSchema,
    503: failureSchema,
  },
  format: (error, request) => formatOfrepError(error, { key: readKey(request) }),
};

const bulkFailure = failureSchema.omit({ key: true });

/** Errors of all flags. */
export const bulkErrorFormat: ErrorFormat = {
  bodies: { 400: bulkFailure, 401: null, 403: null, 413: bulkFailure, 500: bulkFailure, 503: bulkFailure },
  format: (error) => formatOfrepError(error, {}),
};

/** Returns the key in the path of a request; empty if its encoding is malformed, which may be the error that is answered. */
function readKey(request: Request): string {
  try {
    return readPathRest(request, FLAG_PATH);
  } catch {
    return "";
  }
}

/** Answers an error: 401 and 403 with their status only, any other with a code of the protocol and a sentence. */
function formatOfrepError(error: AppError, flag: { key?: string }): Answer | Response {
  const { status, code, message, headers } = error;
  if (status === 401 || status === 403)
    return new Response(null, {
      status,
      headers: { "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers },
    });
  const inputCode = concernsField(error, "context") ? "INVALID_CONTEXT" : "PARSE_ERROR";
  const errorCode = code === "invalid_field" ? inputCode : "GENERAL";
  return answer({ ...flag, errorCode, errorDetails: message }, status, headers);
}

const concernsField = ({ details }: AppError, name: string): boolean =>
  ((details["fields"] ?? []) as { field: string }[]).some(({ field }) => field.split(".")[0] === name);

/** 400 for more flags than one answer may have. */
const tooManyFlags = (): Answer =>
  answer(
    {
      errorCode: "GENERAL",
      errorDetails: `there are more than ${MAX_FLAGS} flags, or more than ${PAGE_BYTES} bytes of them; ask for each by its key, or read GET /api/product/values in pages`,
    },
    400,
  );
