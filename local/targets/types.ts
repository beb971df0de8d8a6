/** Types of target systems for `--targets`: their fields, and how they are opened. */
import { join } from "node:path";
import * as z from "zod";
import { nonEmptyText } from "../../lib/changes/rules/fields.ts";
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import type { Identity } from "../../lib/changes/runtime.ts";
import type { Clock } from "../../lib/kit/platform.ts";
import { parseWebhookKey } from "../../lib/kit/webhook_signature.ts";
import type { Store } from "../../lib/store/store.ts";
import { checkGithub, githubFields, openGithub } from "./github.ts";
import { gateAdapter } from "../../lib/targets/gate.ts";
import type { TargetReports } from "../../lib/targets/observe_system.ts";
import type { Entry, TargetSystem } from "../../lib/targets/port.ts";
import { checkWebhookUrl, describeWebhook, webhookAdapter } from "../../lib/targets/webhook.ts";
import type { OptionError } from "../secrets.ts";
import { etcdTarget, parseOrigin } from "./etcd.ts";
import { fileTarget } from "./file.ts";
import { flagdTarget } from "./flagd.ts";
import { gitTarget } from "./git.ts";
import { describeAddress, postgresTarget } from "./postgres.ts";
import { unleashTarget } from "./unleash.ts";
import { parseUnleashUrl } from "./unleash_api.ts";

/** Parts that every system may use. */
export interface SystemParts extends TargetReports {
  store: Store;
  identity: Identity;
  clock: Clock;
  /** Folder of this process for caches. */
  folder: string;
}

type Fields = Readonly<Record<string, unknown>> & { name: string; type: string };

/** A system of the file, with the values that its fields refer to. */
interface OpenParts extends SystemParts {
  declared: Fields;
  /** Secrets by the field that names their variable. */
  secrets: Readonly<Record<string, string | undefined>>;
  /** Expands the key template for an entry. Errors: `NoTargetSystem`. */
  key(entry: Entry): string;
  /** Resolves a path of the file against its folder. */
  path(name: string): string;
}

/** A type of target systems. */
interface SystemType {
  /** Fields other than name, type, match, kinds and tenants; one that ends in `_env` names a variable. */
  fields: z.ZodRawShape;
  /** The key template, and the field that it stands in; absent where the system separates tenants itself. */
  template?(declared: Fields): { field: string; text: string };
  check?(
    declared: Fields,
    secrets: Readonly<Record<string, string | undefined>>,
    createError: CreateError,
    path: OpenParts["path"],
  ): void;
  /** Returns the description and address of a system, without secrets, for the log and the signers of mandates. */
  describe(declared: Fields, secrets: Readonly<Record<string, string | undefined>>): object;
  open(parts: OpenParts): TargetSystem | ProductAdapter;
}

const pathField = () => nonEmptyText();
const variableField = () =>
  z.string("must be text").regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable");
const keyTemplate = (declared: Fields) => ({ field: "key", text: (declared["key"] as string | undefined) ?? "{rest}" });
// The schema requires each field that is read without a default text.
const readText = (declared: Fields, field: string, defaultText?: string): string =>
  (declared[field] as string | undefined) ?? defaultText!;
const describeDeclared = (declared: Fields): object => declared;

type CreateError = (field: string, message: string) => OptionError;

/** Runs a check, and turns its error into one that names the field. */
function checkField(field: string, createError: CreateError, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw createError(field, (error as Error).message);
  }
}

/** All types of target systems, by their name in the file. */
export const TYPES: Readonly<Record<string, SystemType>> = {
  file: {
    fields: { path: pathField() },
    describe: describeDeclared,
    open: ({ declared, store, identity, clock, path }) =>
      fileTarget({
        name: declared.name,
        path: path(readText(declared, "path")),
        shownPath: readText(declared, "path"),
        store,
        clock,
        ...identity,
      }),
  },
  flagd: {
    fields: { file: pathField(), key: nonEmptyText().optional() },
    template: keyTemplate,
    describe: describeDeclared,
    open: ({ declared, clock, key, path }) =>
      flagdTarget({
        name: declared.name,
        path: path(readText(declared, "file")),
        shownPath: readText(declared, "file"),
        clock,
        flagKey: key,
      }),
  },
  unleash: {
    fields: {
      url: nonEmptyText(),
      project: nonEmptyText().optional(),
      environment: nonEmptyText(),
      token_env: variableField(),
      key: nonEmptyText().optional(),
    },
    template: keyTemplate,
    check: ({ url }, _, createError) => checkField("url", createError, () => parseUnleashUrl(String(url))),
    describe: describeDeclared,
    open: ({ declared, secrets, clock, key }) =>
      unleashTarget({
        name: declared.name,
        url: readText(declared, "url"),
        project: readText(declared, "project", "default"),
        environment: readText(declared, "environment"),
        token: secrets["token_env"]!,
        clock,
        flagName: key,
      }),
  },
  postgres: {
    fields: {
      url_env: variableField(),
      table: nonEmptyText(),
      key_column: nonEmptyText(),
      value_column: nonEmptyText(),
      key: nonEmptyText().optional(),
    },
    template: keyTemplate,
    check: (_, { url_env }, createError) => checkField("url_env", createError, () => describeAddress(url_env!)),
    describe: (declared, { url_env }) => ({ ...declared, address: describeAddress(url_env!) }),
    open: ({ declared, secrets, key }) =>
      postgresTarget({
        name: declared.name,
        url: secrets["url_env"]!,
        table: readText(declared, "table"),
        keyColumn: readText(declared, "key_column"),
        valueColumn: readText(declared, "value_column"),
        key,
      }),
  },
  etcd: {
    fields: {
      url: nonEmptyText(),
      key: nonEmptyText().optional(),
      user_env: variableField().optional(),
      password_env: variableField().optional(),
    },
    template: keyTemplate,
    check: ({ url }, _, createError) => checkField("url", createError, () => parseOrigin(String(url))),
    describe: describeDeclared,
    open: ({ declared, secrets, key }) =>
      etcdTarget({
        name: declared.name,
        url: readText(declared, "url"),
        key,
        // The text before the first placeholder begins all keys.
        prefix: readText(declared, "key", "{rest}").split("{")[0]!,
        user: secrets["user_env"],
        password: secrets["password_env"],
      }),
  },
  git: {
    fields: {
      url: nonEmptyText(),
      branch: nonEmptyText(),
      path: nonEmptyText(),
      ssh_key_file: nonEmptyText().optional(),
      known_hosts_file: nonEmptyText().optional(),
      token_env: variableField().optional(),
      signing_key_file: nonEmptyText().optional(),
    },
    template: (declared) => ({ field: "path", text: readText(declared, "path") }),
    describe: describeDeclared,
    open: ({ declared, secrets, clock, key, path, folder }) => {
      const file = (field: string): string | undefined =>
        declared[field] === undefined ? undefined : path(readText(declared, field));
      return gitTarget({
        name: declared.name,
        url: readText(declared, "url"),
        branch: readText(declared, "branch"),
        path: key,
        folder: join(folder, `git-${declared.name}`),
        sshKeyFile: file("ssh_key_file"),
        knownHostsFile: file("known_hosts_file"),
        token: secrets["token_env"],
        signingKey: file("signing_key_file"),
        clock,
      });
    },
  },
  webhook: {
    fields: { url: nonEmptyText(), secret_env: variableField() },
    check({ url }, { secret_env }, createError) {
      checkField("url", createError, () => checkWebhookUrl(String(url)));
      checkField("secret_env", createError, () => parseWebhookKey(secret_env!));
    },
    // The path of a webhook may be a secret, so only its digest is shown.
    describe: ({ url, ...declared }) => ({
      ...declared,
      url: new URL(String(url)).origin,
      address: describeWebhook(String(url)),
    }),
    open: ({ declared, secrets, identity, clock, observer, log }) =>
      webhookAdapter({
        name: declared.name,
        url: String(declared["url"]),
        secret: secrets["secret_env"]!,
        clock,
        observer,
        log,
        ...identity,
      }),
  },
  gate: {
    fields: { github: githubFields().optional() },
    check: checkGithub,
    describe: describeDeclared,
    open: ({ declared, secrets, clock, path }) =>
      gateAdapter(declared.name, openGithub(declared, { secrets, clock, path })),
  },
};
