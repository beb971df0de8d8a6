/** Reads the file of `--targets`: the target systems, and which changes each of them receives. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import type { ProductAdapter, TargetsInForce } from "../../lib/changes/operations/adapter_port.ts";
import { KINDS } from "../../lib/changes/rules/change_terms.ts";
import { nonEmptyText, list, strictObject } from "../../lib/changes/rules/fields.ts";
import { targetPattern } from "../../lib/changes/rules/intent_parts.ts";
import type { Identity } from "../../lib/changes/runtime.ts";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { systemClock } from "../../lib/kit/platform.ts";
import { JsonRejected, parseStrictJson } from "../../lib/kit/strict_json.ts";
import type { Store } from "../../lib/store/store.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import { findWildcard } from "../../lib/changes/rules/target_pattern.ts";
import { routingAdapter } from "../../lib/targets/routing.ts";
import { expandTemplate, findTemplateProblem, hasTenantPlaceholder } from "../../lib/targets/template.ts";
import type { TargetReports } from "../../lib/targets/observe_system.ts";
import type { Entry } from "../../lib/targets/port.ts";
import { sha256 } from "../node_ports.ts";
import { type Environment, OptionError, readSecret } from "../secrets.ts";
import { TYPES, type SystemParts } from "./types.ts";

/** A target system of the file. */
interface ConfiguredSystem {
  declared: DeclaredSystem;
  /** Description of the system for the log, without secrets. */
  description: object;
  open(parts: SystemParts): ProductAdapter;
}

/** The file, with its secrets. */
export interface TargetsFile extends TargetsInForce {
  /** Opens the adapter. `folder`: for copies that only this process uses. */
  open(store: Store, identity: Identity, folder: string, reports?: TargetReports): ProductAdapter;
}

const sharedFields = {
  name: z
    .string("must be text")
    .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, - and _, a letter or digit first"),
  match: list(targetPattern()).min(1, "must name at least one pattern"),
  kinds: list(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`)).optional(),
  tenants: list(nonEmptyText()).min(1, "must name at least one tenant").optional(),
};

type DeclaredSystem = z.infer<z.ZodObject<typeof sharedFields>> & { type: string } & Record<string, unknown>;

/** Reads the file. Errors: `OptionError` with one line that names the system and the field. */
export function readTargets(path: string, env: Environment): TargetsFile {
  const option = `--targets ${path}`;
  const text = readText(path, option);
  const declaredSystems = parseSystems(text, option);
  const systems = declaredSystems.map((declared, index) => {
    const location = `${option}: systems[${index}] (${declared.name})`;
    const createError = (subject: string, message: string): OptionError =>
      new OptionError(`${location}: ${subject} ${message}`, 1);
    return configure(declared, { folder: dirname(resolve(path)), env, createError });
  });
  rejectDuplicates(declaredSystems, option);
  const hash = sha256(text);
  const descriptions = systems.map(({ description }) => description);
  return {
    hash,
    systems: descriptions,
    open: (store, identity, folder, reports) =>
      routingAdapter(
        systems.map(({ declared: { name, match, kinds, tenants }, open }) => ({
          name,
          match,
          kinds,
          tenants,
          adapter: open({ store, identity, clock: systemClock, folder, ...reports }),
        })),
        { hash, systems: descriptions },
      ),
  };
}

function readText(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new OptionError(`${option} cannot be read (${(error as NodeJS.ErrnoException).code})`, 1);
  }
}

function parseSystems(text: string, option: string): DeclaredSystem[] {
  let content: unknown;
  try {
    content = parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonRejected) throw new OptionError(`${option} ${error.message}`, 1);
    throw error;
  }
  const file = strictObject({ systems: list(z.looseObject({}, "must be an object")).min(1, "must list a system") });
  const { systems } = parse(file, content, (path, message) => `${option}: ${path || "the file"} ${message}`);
  return systems.map((system, index) => {
    const name = typeof system["name"] === "string" ? ` (${system["name"]})` : "";
    const location = `${option}: systems[${index}]${name}`;
    const type = TYPES[String(system["type"])];
    if (!type) throw new OptionError(`${location}: type must be one of ${Object.keys(TYPES).join(", ")}`, 1);
    const schema = strictObject({ ...sharedFields, type: z.string(), ...type.fields });
    return parse(schema, system, (path, message) => `${location}: ${path || "it"} ${message}`) as DeclaredSystem;
  });
}

function parse<T extends z.ZodType>(
  schema: T,
  value: unknown,
  formatProblem: (path: string, message: string) => string,
): z.infer<T> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!;
  const isAbsent = issue.code === "invalid_type" && issue.input === undefined;
  throw new OptionError(formatProblem(issue.path.join("."), isAbsent ? "is required" : issue.message), 1);
}

/** Context of a system in the file; `folder` is the file's. */
interface SystemContext {
  folder: string;
  env: Environment;
  createError(subject: string, message: string): OptionError;
}

function configure(declared: DeclaredSystem, { folder, env, createError }: SystemContext): ConfiguredSystem {
  const type = TYPES[declared.type]!;
  const template = type.template?.(declared);
  if (template) {
    const problem = findTemplateProblem(template.text);
    if (problem !== undefined) throw createError(template.field, problem);
    if (!hasTenantPlaceholder(template.text) && declared.tenants?.length !== 1)
      throw createError(
        "tenants",
        `must name exactly one tenant, since ${template.text} has no {tenant} and two tenants would share a key`,
      );
  }
  // Called only by the types that have a template.
  const key = ({ tenant_id, target }: Entry): string =>
    expandTemplate(template!.text, { tenant: tenant_id, rest: findWildcard(target, declared.match) ?? target });
  const requireSecret = (field: string, variable: string): string => {
    const value = readSecret(env, variable);
    if (value === undefined) throw createError(field, `names ${variable}, which is not set`);
    return value;
  };
  const secrets = Object.fromEntries(
    listVariables(declared).map(([field, variable]) => [field, requireSecret(field, variable)]),
  );
  const path = (name: string): string => resolve(folder, name);
  type.check?.(declared, secrets, createError, path);
  return {
    declared,
    description: type.describe(declared, secrets),
    open(parts) {
      const opened = openSystem(() => type.open({ declared, secrets, key, path, ...parts }), createError);
      // Only a target system has `compareAndSet`; some types open an adapter of their own, which is used as it is.
      if (!("compareAndSet" in opened)) return opened;
      return targetAdapter(opened, { ...parts, sha256 });
    },
  };
}

/** Lists the paths of fields that name a variable, with the variables. */
const listVariables = (fields: object, stem = ""): [field: string, variable: string][] =>
  Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (typeof value === "string") return name.endsWith("_env") ? [[stem + name, value]] : [];
    return isRecord(value) ? listVariables(value, `${stem}${name}.`) : [];
  });

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Opens a system; an error of the system itself becomes an `OptionError`, like other faults of the file. */
function openSystem<T>(open: () => T, createError: SystemContext["createError"]): T {
  try {
    return open();
  } catch (error) {
    throw createError("cannot be used:", (error as Error).message);
  }
}

/** Rejects two systems with the same name, or the same settings, of which the second would never be used. */
function rejectDuplicates(systems: readonly DeclaredSystem[], option: string): void {
  const nameByIdentity = new Map<string, string>();
  for (const system of systems) {
    const { name, ...rest } = system;
    // The order of patterns makes no difference.
    const identities = [`the name ${name}`, canonicalJson({ ...rest, match: [...rest.match].sort() })];
    for (const identity of identities) {
      const other = nameByIdentity.get(identity);
      if (other !== undefined)
        throw new OptionError(
          identity.startsWith("the name")
            ? `${option}: two systems have ${identity}`
            : `${option}: ${name} is the same as ${other}: type, address, template, match, kinds and tenants; remove one`,
          1,
        );
      nameByIdentity.set(identity, name);
    }
  }
}
