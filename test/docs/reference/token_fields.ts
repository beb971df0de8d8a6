/**
 * Fields of the files of `--identity-jwt` and `--gate-issuers`, for the tables of docs/identity.md and docs/gates.md, which
 * test/docs/reference.test.ts generates from this file.
 */

/** Sentences of Markdown by field of the file of `--identity-jwt`. */
export const IDENTITY_FIELDS: Readonly<Record<string, string>> = {
  preset: "`oauth2-proxy`, `cloudflare-access`, `google-iap`, `aws-alb` or `pomerium`; fills in the fields below.",
  audience:
    "Required, one or a list: the token's `aud` must contain one of them. For a load balancer, the field `client` in the token's header must be one of them.",
  issuer: "The exact `iss` of the token.",
  header: "The header that holds the token.",
  algorithms:
    "Accepted signatures: `ES256`, `ES384`, `ES512`, `EdDSA`, `Ed25519`, `PS256`, `PS384`, `PS512`, `RS256`, `RS384`, `RS512`. Shared secrets (`HS256`) are impossible.",
  jwks_url:
    "Address of the issuer's public keys: https, or http on this machine. For `aws-alb`, the address to which the key's id is appended.",
  name_claim:
    "The claim with the person's name; `email` by default. For `email` and `/user/email`, `email_verified` must not be false.",
  groups_claim:
    "The claim with the person's groups, which [narrow](#groups) what a person may do. A name that begins with `/` is a path: `/custom/groups`.",
  signer: "For `aws-alb`: the ARN of the load balancer.",
};

/** Sentences of Markdown by field of an issuer in the file of `--gate-issuers`. */
export const ISSUER_FIELDS: Readonly<Record<string, string>> = {
  issuer: "The `iss` of the issuer's tokens.",
  audience: "The `aud` that tokens must have, one or a list: your own address, which the job requests.",
  jwks_url:
    "Address of the issuer's public keys (https). The service caches them, and fetches them for an unknown key at most once a minute.",
  algorithms: "The accepted algorithms; only those with a public key.",
  claims:
    "The claims that name the commit, the environment and the repository. GitLab: `sha`, `environment`, `project_id`.",
};
