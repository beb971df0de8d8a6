/** The field `github` of a release gate in the targets file: the GitHub App whose deployments the gate decides. */
import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import * as z from "zod";
import { nonEmptyText, list, strictObject } from "../../lib/changes/rules/fields.ts";
import { canMatchDeployment } from "../../lib/changes/rules/release.ts";
import { githubApp } from "../../lib/github/app.ts";
import { type GithubGate, MIN_HOOK_SECRET_LENGTH } from "../../lib/github/gate.ts";
import { isSafeAddress } from "../../lib/identity/issuer_fields.ts";
import type { Clock } from "../../lib/kit/platform.ts";

const API = "https://api.github.com";

/** The schema of the field. */
export const githubFields = () =>
  strictObject({
    app_id: z.number("must be a number").int("must be a whole number").min(1, "must be at least 1"),
    key_file: nonEmptyText(),
    secret_env: z
      .string("must be text")
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable"),
    api: nonEmptyText()
      .refine(
        (address) => isSafeAddress(address) && !/\/$|[?#]/.test(address),
        "must be an https URL, or http on this machine, without a user name, ?, # and a slash at its end",
      )
      .optional(),
  });

/** A gate as the targets file declares it. */
type DeclaredGate = { name: string } & Readonly<Record<string, unknown>>;
type Secrets = Readonly<Record<string, string | undefined>>;

/** The gate's secrets and the folder of its file. */
interface GateContext {
  /** Values by the field that names their variable, such as `github.secret_env`. */
  secrets: Secrets;
  /** Resolves a path of the file against its folder. */
  path(name: string): string;
}

const readField = ({ github }: DeclaredGate) => github as z.output<ReturnType<typeof githubFields>> | undefined;

/** Requires one tenant, deployments, a secret that cannot be guessed, and an RSA key. */
export function checkGithub(
  gate: DeclaredGate,
  secrets: Secrets,
  createError: (field: string, message: string) => Error,
  path: GateContext["path"],
): void {
  const github = readField(gate);
  if (!github) return;
  const { tenants, match } = z
    .looseObject({ tenants: list(nonEmptyText()).optional(), match: list(nonEmptyText()) })
    .parse(gate);
  if (tenants?.length !== 1 || tenants[0] === "*")
    throw createError("tenants", "must name exactly one tenant, since GitHub names none");
  if (!match.some(canMatchDeployment)) throw createError("match", "must cover deploy/…, which GitHub asks for");
  if (secrets["github.secret_env"]!.length < MIN_HOOK_SECRET_LENGTH)
    throw createError(
      "github.secret_env",
      `names a secret that must have ${MIN_HOOK_SECRET_LENGTH} characters or more`,
    );
  try {
    readKey(path(github.key_file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A code such as ENOENT is the file system's; the other errors have a message that says what is wrong with the key.
    const isReadError = code !== undefined && !code.startsWith("ERR_");
    throw createError("github.key_file", isReadError ? `cannot be read (${code})` : message);
  }
}

/** Opens the App of a gate; undefined for a gate without one. */
export function openGithub(
  gate: DeclaredGate,
  { secrets, clock, path }: GateContext & { clock: Clock },
): GithubGate | undefined {
  const github = readField(gate);
  if (!github) return undefined;
  const { app_id, key_file, api = API } = github;
  return {
    name: gate.name,
    tenant_id: (gate["tenants"] as string[])[0]!,
    secret: secrets["github.secret_env"]!,
    app: githubApp({ app_id, key: readKey(path(key_file)), api }, { clock }),
  };
}

/** Reads an RSA key in PEM, PKCS#1 as GitHub issues it or PKCS#8, and returns it as PKCS#8. */
function readKey(path: string): string {
  const text = readFileSync(path, "utf8");
  let key;
  try {
    key = createPrivateKey(text);
  } catch {
    throw new Error("must be a private key in PEM");
  }
  if (key.asymmetricKeyType !== "rsa") throw new Error("must be the RSA key that GitHub made for the App");
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}
