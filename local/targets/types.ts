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
import type { TargetReports } from "../../lib/targets/observed.ts";
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
  /** Folder of this process for copies that may be made again. */
  folder: string;
}

type Fields = Readonly<Record<string, unknown>> & { name: string; type: string };

/** A system of the file, with the values that its fields refer to. */
interface Opening extends SystemParts {
  stated: Fields;
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
  template?(stated: Fields): { field: string; text: string };
  check?(
    stated: Fields,
    secrets: Readonly<Record<string, string | undefined>>,
    wrong: Wrong,
    path: Opening["path"],
  ): void;
  /** The system for the log and for the signers of mandates: where it is, without secrets. */
  show(stated: Fields, secrets: Readonly<Record<string, string | undefined>>): object;
  open(opening: Opening): TargetSystem | ProductAdapter;
}

const path = () => nonEmptyText();
const variable = () =>
  z.string("must be text").regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable");
const keyTemplate = (stated: Fields) => ({ field: "key", text: (stated["key"] as string | undefined) ?? "{rest}" });
const readText = (stated: Fields, field: string, absent?: string): string =>
  (stated[field] as string | undefined) ?? absent!;
const showStated = (stated: Fields): object => stated;

type Wrong = (field: string, message: string) => OptionError;

/** Names the field in the error of a check. */
function checkField(field: string, wrong: Wrong, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw wrong(field, (error as Error).message);
  }
}

export const TYPES: Readonly<Record<string, SystemType>> = {
  file: {
    fields: { path: path() },
    show: showStated,
    open: ({ stated, store, identity, clock, path }) =>
      fileTarget({
        name: stated.name,
        path: path(readText(stated, "path")),
        shownPath: readText(stated, "path"),
        store,
        clock,
        ...identity,
      }),
  },
  flagd: {
    fields: { file: path(), key: nonEmptyText().optional() },
    template: keyTemplate,
    show: showStated,
    open: ({ stated, clock, key, path }) =>
      flagdTarget({
        name: stated.name,
        path: path(readText(stated, "file")),
        shownPath: readText(stated, "file"),
        clock,
        flagKey: key,
      }),
  },
  unleash: {
    fields: {
      url: nonEmptyText(),
      project: nonEmptyText().optional(),
      environment: nonEmptyText(),
      token_env: variable(),
      key: nonEmptyText().optional(),
    },
    template: keyTemplate,
    check: ({ url }, _, wrong) => checkField("url", wrong, () => parseUnleashUrl(String(url))),
    show: showStated,
    open: ({ stated, secrets, clock, key }) =>
      unleashTarget({
        name: stated.name,
        url: readText(stated, "url"),
        project: readText(stated, "project", "default"),
        environment: readText(stated, "environment"),
        token: secrets["token_env"]!,
        clock,
        flagName: key,
      }),
  },
  postgres: {
    fields: {
      url_env: variable(),
      table: nonEmptyText(),
      key_column: nonEmptyText(),
      value_column: nonEmptyText(),
      key: nonEmptyText().optional(),
    },
    template: keyTemplate,
    check: (_, { url_env }, wrong) => checkField("url_env", wrong, () => describeAddress(url_env!)),
    show: (stated, { url_env }) => ({ ...stated, address: describeAddress(url_env!) }),
    open: ({ stated, secrets, key }) =>
      postgresTarget({
        name: stated.name,
        url: secrets["url_env"]!,
        table: readText(stated, "table"),
        keyColumn: readText(stated, "key_column"),
        valueColumn: readText(stated, "value_column"),
        key,
      }),
  },
  etcd: {
    fields: {
      url: nonEmptyText(),
      key: nonEmptyText().optional(),
      user_env: variable().optional(),
      password_env: variable().optional(),
    },
    template: keyTemplate,
    check: ({ url }, _, wrong) => checkField("url", wrong, () => parseOrigin(String(url))),
    show: showStated,
    open: ({ stated, secrets, key }) =>
      etcdTarget({
        name: stated.name,
        url: readText(stated, "url"),
        key,
        prefix: readText(stated, "key", "{rest}").split("{")[0]!,
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
      token_env: variable().optional(),
      signing_key_file: nonEmptyText().optional(),
    },
    template: (stated) => ({ field: "path", text: readText(stated, "path") }),
    show: showStated,
    open: ({ stated, secrets, clock, key, path, folder }) => {
      const file = (field: string): string | undefined =>
        stated[field] === undefined ? undefined : path(readText(stated, field));
      return gitTarget({
        name: stated.name,
        url: readText(stated, "url"),
        branch: readText(stated, "branch"),
        path: key,
        folder: join(folder, `git-${stated.name}`),
        sshKeyFile: file("ssh_key_file"),
        knownHostsFile: file("known_hosts_file"),
        token: secrets["token_env"],
        signingKey: file("signing_key_file"),
        clock,
      });
    },
  },
  webhook: {
    fields: { url: nonEmptyText(), secret_env: variable() },
    check({ url }, { secret_env }, wrong) {
      checkField("url", wrong, () => checkWebhookUrl(String(url)));
      checkField("secret_env", wrong, () => parseWebhookKey(secret_env!));
    },
    // The path of a webhook may be a secret, so only its digest is shown.
    show: ({ url, ...stated }) => ({
      ...stated,
      url: new URL(String(url)).origin,
      address: describeWebhook(String(url)),
    }),
    open: ({ stated, secrets, identity, clock, observer, log }) =>
      webhookAdapter({
        name: stated.name,
        url: String(stated["url"]),
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
    show: showStated,
    open: ({ stated, secrets, clock, path }) => gateAdapter(stated.name, openGithub(stated, { secrets, clock, path })),
  },
};
