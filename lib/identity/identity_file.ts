/** The file of `--identity-jwt`: which header of the proxy holds a token, and what the token must say. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { type Algorithm, issuerFields } from "./issuer_fields.ts";

const PRESETS = ["oauth2-proxy", "cloudflare-access", "google-iap", "aws-alb", "pomerium"] as const;
type Preset = (typeof PRESETS)[number];

/** The ARN of an application load balancer; group 1 is its region. */
const ALB = /^arn:aws[a-z-]*:elasticloadbalancing:([a-z0-9-]+):\d{12}:loadbalancer\/app\/[\w-]+\/[0-9a-f]+$/;

const claimName = () =>
  z.string("must be text").min(1, "must not be empty").max(200, "must have at most 200 characters");

/** Schema of the file. */
export const identityFileSchema = once(() => {
  const { issuer, audience, algorithms, jwks_url } = issuerFields();
  return z.strictObject({
    preset: z.enum(PRESETS, `must be one of ${PRESETS.join(", ")}`).optional(),
    header: z
      .string("must be text")
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of an HTTP header")
      .transform((name) => name.toLowerCase())
      .refine((name) => name !== "authorization", "must not be Authorization, which carries agents' secrets")
      .optional(),
    issuer: issuer.optional(),
    audience,
    algorithms: algorithms.optional(),
    jwks_url: jwks_url.optional(),
    name_claim: claimName().optional(),
    groups_claim: claimName().optional(),
    signer: z.string("must be text").regex(ALB, "must be the ARN of an application load balancer").optional(),
  });
});
type File = z.output<ReturnType<typeof identityFileSchema>>;

/** Settings of a file, completed by its preset. */
export interface PersonTokenSettings {
  header: string;
  /** Absent only for a load balancer of AWS, which `signer` identifies. */
  issuer: string | undefined;
  audience: string | string[];
  algorithms: readonly Algorithm[];
  /** Address of the key set; with `aws-alb` the prefix of a key's address. */
  jwks_url: string;
  name_claim: string;
  groups_claim: string | undefined;
  /** ARN of the load balancer; then the issuer, the audience (`client`) and the expiry stand in the token's header. */
  signer: string | undefined;
}

/** The file is malformed; the message names the field and its rule. */
export class IdentityFileInvalid extends Error {
  override readonly name = "IdentityFileInvalid";
}

/** Reads the JSON text of a file. Errors: `IdentityFileInvalid`. */
export function readIdentityFile(text: string): PersonTokenSettings {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new IdentityFileInvalid("is not valid JSON");
  }
  const { data, error } = identityFileSchema().safeParse(value);
  if (error) throw new IdentityFileInvalid(describeIssue(error.issues[0]!, value));
  if (data.signer !== undefined && data.preset !== "aws-alb")
    throw new IdentityFileInvalid("signer: goes with the preset aws-alb");
  const presetFields = data.preset ? PRESET_FIELDS[data.preset](data) : {};
  const settings = {
    name_claim: "email",
    groups_claim: undefined,
    issuer: undefined,
    signer: undefined,
    ...presetFields,
    ...data,
  };
  const sourceField = data.preset === "aws-alb" ? "signer" : "issuer";
  for (const field of ["header", sourceField, "jwks_url", "algorithms"] as const)
    if ((settings as Partial<Record<string, unknown>>)[field] === undefined)
      throw new IdentityFileInvalid(
        `${field}: is required${data.preset ? ` with the preset ${data.preset}` : " without a preset"}`,
      );
  const { preset: _, ...rest } = settings;
  return rest as PersonTokenSettings;
}

function describeIssue({ path, code, message, ...rest }: z.core.$ZodIssue, value: unknown): string {
  if (code === "unrecognized_keys" && "keys" in rest) return `${String(rest.keys)}: is not a field of this file`;
  if (path.length === 0) return "must be a JSON object";
  const isMissing = typeof value === "object" && value !== null && path.length === 1 && !(path[0]! in value);
  return `${path.join(".")}: ${isMissing ? "is required" : message}`;
}

/** The fields that each preset fills in; those of the file win. */
const PRESET_FIELDS: Record<Preset, (file: File) => Partial<PersonTokenSettings>> = {
  // `injectRequestHeaders` adds this header with the claim id_token; issuer and keys are the identity provider's.
  "oauth2-proxy": () => ({ header: "x-auth-request-id-token", algorithms: ["RS256", "ES256"], groups_claim: "groups" }),
  "cloudflare-access": ({ issuer }) => ({
    header: "cf-access-jwt-assertion",
    algorithms: ["RS256"],
    ...(issuer !== undefined && { jwks_url: `${issuer.replace(/\/+$/, "")}/cdn-cgi/access/certs` }),
  }),
  "google-iap": () => ({
    header: "x-goog-iap-jwt-assertion",
    algorithms: ["ES256"],
    issuer: "https://cloud.google.com/iap",
    jwks_url: "https://www.gstatic.com/iap/verify/public_key-jwk",
  }),
  "aws-alb": ({ signer }) => {
    const region = ALB.exec(signer ?? "")?.[1];
    return {
      header: "x-amzn-oidc-data",
      algorithms: ["ES256"],
      ...(region !== undefined && { jwks_url: `https://public-keys.auth.elb.${region}.amazonaws.com/` }),
    };
  },
  // Issuer and audience are the host name of the route, whose address also has the keys.
  pomerium: ({ audience }) => {
    const host = typeof audience === "string" ? audience.replace(/^https:\/\/|\/$/g, "") : undefined;
    return {
      header: "x-pomerium-jwt-assertion",
      algorithms: ["ES256"],
      groups_claim: "groups",
      ...(host !== undefined && { issuer: host, jwks_url: `https://${host}/.well-known/pomerium/jwks.json` }),
    };
  },
};
