/** The file of `--targets`: which target systems there are, and which changes go to which. */
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
import type { TargetReports } from "../../lib/targets/observed.ts";
import type { Entry } from "../../lib/targets/port.ts";
import { sha256 } from "../node_ports.ts";
import { type Environment, OptionError, readSecret } from "../secrets.ts";
import { TYPES, type SystemParts } from "./types.ts";

/** The system of one entry of the file. */
interface ConfiguredSystem {
  stated: Stated;
  /** The system for the log. */
  shown: object;
  open(parts: SystemParts): ProductAdapter;
}

/** The file as it was read, with its secrets. */
export interface TargetsFile extends TargetsInForce {
  /** `folder`: for copies that this process alone uses. */
  open(store: Store, identity: Identity, folder: string, reports?: TargetReports): ProductAdapter;
}

const shared = {
  name: z
    .string("must be text")
    .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, - and _, a letter or digit first"),
  match: list(targetPattern()).min(1, "must name at least one pattern"),
  kinds: list(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`)).optional(),
  tenants: list(nonEmptyText()).min(1, "must name at least one tenant").optional(),
};

type Stated = z.infer<z.ZodObject<typeof shared>> & { type: string } & Record<string, unknown>;

/** Reads the file. Errors: `OptionError` with one line that names system and field. */
export function readTargets(path: string, env: Environment): TargetsFile {
  const option = `--targets ${path}`;
  const text = readText(path, option);
  const stated = parseSystems(text, option);
  const folder = dirname(resolve(path));
  const systems = stated.map((one, index) => {
    const where = `${option}: systems[${index}] (${one.name})`;
    const wrong = (field: string, message: string): OptionError => new OptionError(`${where}: ${field} ${message}`, 1);
    return configure(one, { folder, env, wrong });
  });
  refuseDoubles(stated, option);
  const hash = sha256(text);
  const shown = systems.map((one) => one.shown);
  return {
    hash,
    systems: shown,
    open: (store, identity, folder, reports) =>
      routingAdapter(
        systems.map(({ stated: { name, match, kinds, tenants }, open }) => ({
          name,
          match,
          kinds,
          tenants,
          adapter: open({ store, identity, clock: systemClock, folder, ...reports }),
        })),
        { hash, systems: shown },
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

function parseSystems(text: string, option: string): Stated[] {
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
    const where = `${option}: systems[${index}]${name}`;
    const type = TYPES[String(system["type"])];
    if (!type) throw new OptionError(`${where}: type must be one of ${Object.keys(TYPES).join(", ")}`, 1);
    const schema = strictObject({ ...shared, type: z.string(), ...type.fields });
    return parse(schema, system, (path, message) => `${where}: ${path || "it"} ${message}`) as Stated;
  });
}

function parse<T extends z.ZodType>(
  schema: T,
  value: unknown,
  say: (path: string, message: string) => string,
): z.infer<T> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!;
  const isAbsent = issue.code === "invalid_type" && issue.input === undefined;
  throw new OptionError(say(issue.path.join("."), isAbsent ? "is required" : issue.message), 1);
}

/** The context of a system of the file. */
interface Setting {
  folder: string;
  env: Environment;
  wrong(field: string, message: string): OptionError;
}

function configure(stated: Stated, { folder, env, wrong }: Setting): ConfiguredSystem {
  const type = TYPES[stated.type]!;
  const template = type.template?.(stated);
  if (template) {
    const problem = findTemplateProblem(template.text);
    if (problem !== undefined) throw wrong(template.field, problem);
    if (!hasTenantPlaceholder(template.text) && stated.tenants?.length !== 1)
      throw wrong(
        "tenants",
        `must name exactly one tenant, since ${template.text} has no {tenant} and two tenants would share a key`,
      );
  }
  const key = ({ tenant_id, target }: Entry): string =>
    expandTemplate(template!.text, { tenant: tenant_id, rest: findWildcard(target, stated.match) ?? target });
  const secret = (field: string, variable: string): string => {
    const value = readSecret(env, variable);
    if (value === undefined) throw wrong(field, `names ${variable}, which is not set`);
    return value;
  };
  const secrets = Object.fromEntries(
    listVariables(stated).map(([field, variable]) => [field, secret(field, variable)]),
  );
  const path = (name: string): string => resolve(folder, name);
  type.check?.(stated, secrets, wrong, path);
  return {
    stated,
    shown: type.show(stated, secrets),
    open(parts) {
      const made = opened(() => type.open({ stated, secrets, key, path, ...parts }), wrong);
      if (!("compareAndSet" in made)) return made;
      return targetAdapter(made, { ...parts, sha256 });
    },
  };
}

/** Lists the fields that name a variable, by their paths, and the variables. */
const listVariables = (fields: object, stem = ""): [field: string, variable: string][] =>
  Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (typeof value === "string") return name.endsWith("_env") ? [[stem + name, value]] : [];
    return isRecord(value) ? listVariables(value, `${stem}${name}.`) : [];
  });

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field that the system itself rejects fails the start like any other. */
function opened<T>(open: () => T, wrong: Setting["wrong"]): T {
  try {
    return open();
  } catch (error) {
    throw wrong("cannot be used:", (error as Error).message);
  }
}

/** Two systems of which only one can ever be reached are a mistake. */
function refuseDoubles(systems: readonly Stated[], option: string): void {
  const seen = new Map<string, string>();
  for (const system of systems) {
    const { name, ...rest } = system;
    const places = [`the name ${name}`, canonicalJson({ ...rest, match: [...rest.match].sort() })];
    for (const place of places) {
      const other = seen.get(place);
      if (other !== undefined)
        throw new OptionError(
          place.startsWith("the name")
            ? `${option}: two systems have ${place}`
            : `${option}: ${name} is the same as ${other}: type, address, template, match, kinds and tenants; remove one`,
          1,
        );
      seen.set(place, name);
    }
  }
}
