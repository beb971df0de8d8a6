/** Parses the options of `ui_server` from the command line and the environment. */
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { IdentityFileInvalid, type PersonTokenSettings, readIdentityFile } from "../lib/identity/identity_file.ts";
import { findNearest, isMisspelling } from "../lib/kit/nearest.ts";
import { parseWebhookKey } from "../lib/kit/webhook_signature.ts";
import { readExportHeaders } from "../lib/operations/audit_export/options.ts";
import { version } from "../lib/kit/version.ts";
import { isNamedProvider } from "../lib/llm/provider.ts";
import { findMisspeltVariables } from "./misspelt_variables.ts";
import type { CheckOptions } from "./intent_file.ts";
import { checkNotifyOptions } from "./notify_options.ts";
import { isDatabase, isLoopback } from "./option_values.ts";
import { readSecretFile, type Environment, OptionError, readSecret } from "./secrets.ts";
import { readTargets, type TargetsFile } from "./targets/config.ts";
import { helpText, TABLE, toVariableName, type OptionValues, type Option } from "./options_table.ts";

export { type Environment, OptionError } from "./secrets.ts";

/** All options with their defaults. Paths are relative to the working directory. */
export interface Options extends OptionValues {
  evolvedDir: string;
  /** True with `--evolved-dir`: its folder then belongs to one log, also if the state is created again. */
  isEvolvedDirGiven: boolean;
  nodeId: string;
  crossLinkHost: string;
  /** The value of the variable that `--llm-key-env` names; undefined when it is unset or empty. */
  llmKey: string | undefined;
  adminToken: string | undefined;
  /** The file of `adminToken`; undefined if a variable has it. */
  adminTokenFile: string | undefined;
  /** Signs the requests of `--product-adapter`. */
  adapterSecret: string | undefined;
  /** The file of `--targets`. */
  targetsFile: TargetsFile | undefined;
  /** The file of `--identity-jwt`. */
  identityToken: PersonTokenSettings | undefined;
  /** Signs the webhooks of `--notify-url`. */
  notifySecret: string | undefined;
  /** Headers of the requests of `--audit-otlp`. */
  auditOtlpHeaders: Record<string, string> | undefined;
  /** True if chat, tasks and feedback need the token too. */
  protectAll: boolean;
  /** True if reads need a token, or a person named by the proxy. */
  protectReads: boolean;
  /** Allows reads, but no write that needs a token. */
  readToken: string | undefined;
  /** Warnings for the log about allowed settings. */
  warnings: string[];
}

/** The task that the options select. */
export type Task =
  | { kind: "run"; options: Options }
  | { kind: "print"; text: string }
  | { kind: "check_intent"; path: string; options: CheckOptions };

/** Parses arguments and environment. A flag overrides its variable; the last of repeated flags counts. Errors: `OptionError`. */
export function parseOptions(argv: readonly string[], env: Environment): Task {
  const flags = readFlags(argv);
  if (flags === "help") return { kind: "print", text: helpText() };
  if (flags === "version") return { kind: "print", text: version };
  const [intentPath, scenarios] = [flags.get(CHECK_INTENT), flags.get(SCENARIOS)];
  const checkOptions = { scenarios, state: flags.get(TABLE.state.flag), storeName: flags.get(TABLE.storeName.flag) };
  if (intentPath !== undefined) return { kind: "check_intent", path: intentPath, options: checkOptions };
  if (scenarios !== undefined) throw malformedError("--scenarios goes with --check-intent");
  const values = Object.entries(TABLE).map(([key, spec]) => [key, readValue(spec, flags.get(spec.flag), env)]);
  return { kind: "run", options: completeOptions(Object.fromEntries(values) as OptionValues, env, flags) };
}

/** With this flag all options but `--scenarios`, `--state` and `--store-name` are ignored. */
const CHECK_INTENT = "check-intent";
const SCENARIOS = "scenarios";

function readFlags(argv: readonly string[]): Map<string, string> | "help" | "version" {
  const optionNames = [...Object.values(TABLE).map(({ flag }) => flag), CHECK_INTENT, SCENARIOS];
  const options = Object.fromEntries(optionNames.map((flag) => [flag, { type: "string" as const }]));
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true });
  const flags = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind === "positional")
      throw malformedError(
        `unexpected argument ${JSON.stringify(token.value)}; see --help (with npm, options follow --: npm start -- --port 8461)`,
      );
    if (token.kind === "option-terminator") continue;
    if (token.rawName === "--help" || token.rawName === "--version") {
      if (token.value !== undefined) throw malformedError(`${token.rawName} takes no value`);
      return token.rawName === "--help" ? "help" : "version";
    }
    if (!optionNames.includes(token.name))
      throw malformedError(`unknown option ${token.rawName}${suggestOption(token.name, optionNames)}; see --help`);
    const isNextFlag = !token.inlineValue && token.value?.startsWith("--");
    if (!token.value || isNextFlag) throw malformedError(`${token.rawName} needs a value; see --help`);
    flags.set(token.name, token.value);
  }
  return flags;
}

const suggestOption = (name: string, known: readonly string[]): string =>
  name.length > 1 && isMisspelling(name, known) ? `: did you mean --${findNearest(name, known)}?` : "";

/** Creates an error with exit code 2; errors about valid options, such as a rule between two, have 1. */
const malformedError = (message: string) => new OptionError(message, 2);

function readValue(spec: Option, flag: string | undefined, env: Environment): unknown {
  const variable = toVariableName(spec.flag);
  const text = flag ?? (spec.fromFile ? readSecret(env, variable) : env[variable]);
  if (text === undefined || text === "") return spec.fallback;
  try {
    return spec.parse(text);
  } catch (error) {
    const name = flag === undefined ? variable : `--${spec.flag}`;
    // An address with an @ may have a password.
    const rejectedValue = spec.secret || text.includes("@") ? "" : `, not ${JSON.stringify(text)}`;
    throw malformedError(`${name} ${(error as Error).message}${rejectedValue}`);
  }
}

function readLinkSecrets({ crossLinkSecrets, crossLinkSecretFile: path }: OptionValues): string[] {
  if (path === undefined) return crossLinkSecrets;
  if (crossLinkSecrets.length > 0)
    throw new OptionError("--cross-link-secret and --cross-link-secret-file exclude each other", 1);
  try {
    return TABLE.crossLinkSecrets.parse(readSecretFile(path, "--cross-link-secret-file").replaceAll("\n", ","));
  } catch (error) {
    if (error instanceof OptionError) throw error;
    throw new OptionError(`--cross-link-secret-file ${path}: its content ${(error as Error).message}`, 1);
  }
}

/** Lists warnings about flags with a secret, which the list of processes shows to everybody on the machine. */
function listExposedSecrets(flags: ReadonlyMap<string, string>): string[] {
  return flags.has("cross-link-secret")
    ? ["--cross-link-secret shows in the process list; use --cross-link-secret-file, or SVC_CROSS_LINK_SECRET"]
    : [];
}

/** Shorter secrets can be guessed. */
const MIN_SECRET_LENGTH = 16;

/** Adds defaults that depend on other options, and checks the rules between options. */
function completeOptions(values: OptionValues, env: Environment, flags: ReadonlyMap<string, string>): Options {
  const options: Options = {
    ...values,
    crossLinkSecrets: readLinkSecrets(values),
    isEvolvedDirGiven: values.evolvedDir !== undefined,
    evolvedDir: values.evolvedDir ?? join(findStateFolder(values), defaultEvolvedName(values)),
    nodeId: values.nodeId ?? values.agentId,
    crossLinkHost: values.crossLinkHost ?? values.host,
    llmKey: values.llmKeyEnv && readSecret(env, values.llmKeyEnv),
    adminToken: readTokenVariable("SVC_ADMIN_TOKEN", env),
    adminTokenFile: env["SVC_ADMIN_TOKEN_FILE"] || undefined,
    adapterSecret: readWebhookSecret("SVC_ADAPTER_SECRET", env),
    targetsFile: values.targets === undefined ? undefined : readTargets(values.targets, env),
    identityToken: values.identityJwt === undefined ? undefined : readIdentity(values.identityJwt),
    auditOtlpHeaders: readOtlpHeaders(values, env),
    notifySecret: readWebhookSecret("SVC_NOTIFY_SECRET", env),
    protectAll: readFlagVariable("SVC_PROTECT_ALL", env) ?? !isLoopback(values.host),
    protectReads: readFlagVariable("SVC_PROTECT_READS", env) ?? false,
    readToken: readTokenVariable("SVC_READ_TOKEN", env),
    warnings: [...listExposedSecrets(flags), ...findMisspeltVariables(env, values.llmKeyEnv)],
  };
  if (!options.adminToken && !isLoopback(options.host)) {
    const address = `--host ${options.host} is not a loopback address`;
    throw new OptionError(`${address}: set SVC_ADMIN_TOKEN, or listen on 127.0.0.1`, 1);
  }
  checkLength("SVC_ADMIN_TOKEN", options.adminToken, options);
  checkReads(options);
  if (!options.adminToken && options.protectAll)
    options.warnings.push("SVC_PROTECT_ALL has no effect while SVC_ADMIN_TOKEN is unset");
  checkNotifyOptions(options, flags);
  if (options.storeName !== undefined && !isDatabase(options.state))
    throw new OptionError(
      `--store-name names a store in a database, and --state ${options.state} is a file: there the path is the name`,
      1,
    );
  checkAdapter(options);
  if (options.llmBaseUrl && !isNamedProvider(options.llm))
    throw new OptionError("--llm-base-url goes with --llm openai or --llm anthropic", 1);
  checkLink(options);
  checkWitnesses(options);
  return options;
}

function checkLength(name: string, secret: string | undefined, { host, warnings }: Options): void {
  if (!secret || secret.length >= MIN_SECRET_LENGTH) return;
  const problem = `${name} has under ${MIN_SECRET_LENGTH} characters`;
  if (!isLoopback(host))
    throw new OptionError(`${problem}; that is accepted only where the service listens on a loopback address`, 1);
  warnings.push(`${problem}; use a longer one before others can reach the service`);
}

function checkReads(options: Options): void {
  const { adminToken, readToken, protectReads, identityHeader, identityToken, warnings } = options;
  checkLength("SVC_READ_TOKEN", readToken, options);
  if (readToken && readToken === adminToken)
    throw new OptionError("SVC_READ_TOKEN must not be SVC_ADMIN_TOKEN: who may read could write", 1);
  if (readToken && !protectReads) warnings.push("SVC_READ_TOKEN opens nothing while SVC_PROTECT_READS is unset");
  if (protectReads && !adminToken && !readToken && !identityHeader && !identityToken)
    throw new OptionError(
      "SVC_PROTECT_READS needs SVC_READ_TOKEN, SVC_ADMIN_TOKEN, --identity-header or --identity-jwt: nobody could read",
      1,
    );
  if (identityHeader && identityToken)
    warnings.push(`--identity-header ${identityHeader} is not read: with --identity-jwt only its token names people`);
}

/** Reads the file of `--identity-jwt`. Errors: `OptionError` with the file, the field and the rule. */
function readIdentity(path: string): PersonTokenSettings {
  try {
    return readIdentityFile(readSecretFile(path, "--identity-jwt"));
  } catch (error) {
    if (error instanceof IdentityFileInvalid) throw new OptionError(`--identity-jwt ${path}: ${error.message}`, 1);
    throw error;
  }
}

/** Reads the headers of `--audit-otlp`. */
function readOtlpHeaders({ auditOtlp }: OptionValues, env: Environment): Record<string, string> | undefined {
  const text = readSecret(env, "SVC_AUDIT_OTLP_HEADERS");
  if (text === undefined || auditOtlp === undefined) return undefined;
  try {
    return readExportHeaders(text);
  } catch (error) {
    throw new OptionError(`SVC_AUDIT_OTLP_HEADERS ${(error as Error).message}`, 1);
  }
}

/** Returns the folder of the state file, or a default folder for a database, with one for each `--store-name`. */
const findStateFolder = ({ state, storeName = "" }: OptionValues): string =>
  isDatabase(state) ? join(dirname(TABLE.state.fallback), storeName) : dirname(state);

/** Returns `evolved` for `state.json` or a database, else `evolved-NAME`, so that two services in one folder use two. */
function defaultEvolvedName({ state }: OptionValues): string {
  const name = basename(state, ".json");
  return isDatabase(state) || name === "state" ? "evolved" : `evolved-${name}`;
}

/** Reads a secret that signs webhooks. Errors: `OptionError` where it is too short. */
function readWebhookSecret(variable: string, env: Environment): string | undefined {
  const secret = readSecret(env, variable);
  try {
    if (secret !== undefined) parseWebhookKey(secret);
    return secret;
  } catch (error) {
    throw new OptionError(`${variable} ${(error as Error).message}`, 1);
  }
}

function checkAdapter(options: Options): void {
  if (options.targets) replaceAdapter(options);
  const { state, productConfig, productAdapter, targets, adapterSecret, productIntent, warnings } = options;
  if (productConfig && productAdapter)
    throw new OptionError("--product-config and --product-adapter exclude each other: a product has one adapter", 1);
  if (productAdapter && !adapterSecret)
    throw new OptionError("--product-adapter needs SVC_ADAPTER_SECRET, which signs what is sent", 1);
  const flags = { "--product-config": productConfig, "--product-adapter": productAdapter, "--targets": targets };
  const [used] = Object.entries(flags).find(([, value]) => value) ?? [];
  if (used && !productIntent) warnings.push(`${used} has no effect without --product-intent`);
  if (productConfig && isDatabase(state))
    warnings.push(
      "--product-config writes a file of this machine; where processes of several machines share the database, use --product-adapter",
    );
}

/** Removes the adapter that `--targets` replaces, such as the one that `npm start` states, with a warning. */
function replaceAdapter(options: Options): void {
  for (const key of ["productConfig", "productAdapter"] as const) {
    if (options[key] === undefined) continue;
    options.warnings.push(`--${TABLE[key].flag} has no effect with --targets: list it among its systems`);
    options[key] = undefined;
  }
}

function checkLink({ crossLinkPort, crossLinkPeers, crossLinkSecrets, crossLinkHost, warnings }: Options): void {
  if (crossLinkPort === undefined && crossLinkPeers.length === 0) return;
  const cause = crossLinkPort === undefined ? "--cross-link-peers" : "--cross-link-port";
  if (crossLinkSecrets.length === 0)
    throw new OptionError(`${cause} needs a secret: set SVC_CROSS_LINK_SECRET, or give --cross-link-secret`, 1);
  if (crossLinkSecrets.every((secret) => secret.length >= MIN_SECRET_LENGTH)) return;
  const problem = `--cross-link-secret holds a secret under ${MIN_SECRET_LENGTH} characters`;
  const hosts = crossLinkPeers.map(({ host }) => host).concat(crossLinkPort === undefined ? [] : crossLinkHost);
  if (!hosts.every(isLoopback))
    throw new OptionError(`${problem}; that is accepted only where the link stays on loopback addresses`, 1);
  warnings.push(`${problem}; use a longer one before the link leaves this machine`);
}

function checkWitnesses(options: Options): void {
  const { auditWitnesses, auditWitnessKeys, auditKey, productIntent, warnings } = options;
  if (auditWitnesses.length !== auditWitnessKeys.length)
    throw new OptionError("--audit-witness and --audit-witness-key go together: as many keys as URLs", 1);
  if (new Set(auditWitnessKeys.map(({ name }) => name)).size < auditWitnessKeys.length)
    throw new OptionError("--audit-witness-key names a witness twice", 1);
  if (auditWitnesses.length > 0 && !auditKey)
    throw new OptionError("--audit-witness needs --audit-key: a witness cosigns what the log has signed", 1);
  if (auditWitnesses.length > 0 && !productIntent)
    warnings.push("--audit-witness has no effect without --product-intent");
  const { witnessFor, witnessKey, witnessName } = options;
  const count = [witnessFor, witnessKey, witnessName].filter((value) => value !== undefined).length;
  if (count !== 0 && count !== 3)
    throw new OptionError("--witness-for, --witness-key and --witness-name go together", 1);
}

function readTokenVariable(name: string, env: Environment): string | undefined {
  const value = readSecret(env, name);
  if (value === undefined) return undefined;
  if (/^[\x20-\x7e]+$/.test(value)) return value;
  throw new OptionError(`${name} must be visible ASCII, to fit a header`, 1);
}

function readFlagVariable(name: string, env: Environment): boolean | undefined {
  const value = env[name];
  if (!value) return undefined;
  if (["0", "1", "false", "true"].includes(value)) return value === "1" || value === "true";
  throw malformedError(`${name} must be 1 or 0, not ${JSON.stringify(value)}`);
}
