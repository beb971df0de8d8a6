/**
 * Settings of the hosts Lambda and Workers, for the tables of docs/lambda.md and docs/workers.md, which
 * test/docs/field_tables.test.ts generates from this file.
 */

/** Settings that both hosts read in the same way: sentences of Markdown by name. */
const SHARED = {
  SVC_PRODUCT_ADAPTER: "The address of the host product's [webhook](webhook_adapter.md).",
  SVC_ADAPTER_SECRET: "Secret: signs requests to the webhook.",
  SVC_ADMIN_TOKEN: "Secret: the token for writes.",
  SVC_READ_TOKEN: "Secret: the token for reads.",
  SVC_ALLOW_ANONYMOUS_WRITES: "While no admin token is set, writes are 401; with `1` they are allowed.",
  SVC_PROTECT_READS: "`0`: reads need no token.",
  SVC_PROTECT_ALL: "`0`: chat, tasks and feedback need no token.",
  SVC_IDENTITY_HEADER: "The header in which a trusted proxy names the person.",
  SVC_IDENTITY_JWT_JSON: "The content of the file for [`--identity-jwt`](identity.md).",
  SVC_GATE_ISSUERS_JSON: "The issuers of CI tokens for [release gates](gates.md#on-record).",
  SVC_ALLOWED_HOSTS: "Accepted host names, separated by commas.",
  SVC_PUBLIC_URL: "The address of the console, for links.",
  SVC_OFREP_TENANT: "The attribute that names the tenant in [OFREP](values.md#a-value-for-a-share-of-the-users).",
  SVC_NODE_ID: "The name of this instance towards peers and in reports.",
  SVC_AUDIT_KEY_PEM: "Secret: the Ed25519 private key that signs checkpoints.",
  SVC_ATTESTATION_KEY_PEM: "Secret: another Ed25519 private key, which signs [attestations](gates.md#attestations).",
  SVC_LLM: "The provider of the [language model](chat.md#a-language-model).",
  SVC_LLM_MODEL: "The name of the model.",
  SVC_LLM_BASE_URL: "The address of a gateway or compatible server.",
  SVC_LLM_KEY: "Secret: the key of the provider.",
} as const;

export const LAMBDA_SETTINGS: Readonly<Record<string, string>> = {
  SVC_DYNAMODB_TABLE: "The name of the table.",
  SVC_SECRETS_ARN: "The ARN of the [secret](#secrets) in Secrets Manager.",
  SVC_PRODUCT_INTENT_JSON: "The intent as JSON. Lambda allows 4 KB for all variables, and a quote counts twice.",
  SVC_PRODUCT_INTENT: "The address of the intent in place of the JSON: `ssm:/name` or `s3://bucket/key`.",
  ...SHARED,
  SVC_INSTANCE_ID: "The name of the service; the same for all functions.",
  SVC_BASE_PATH: "The path below which the API answers.",
  SVC_CYCLE_INTERVAL: "Seconds between scheduled cycles, which `GET /api/capabilities` shows.",
  SVC_LLM_TIMEOUT:
    "Seconds for each call of the model; 20 in the template, since API Gateway ends a request after 30 seconds.",
  SVC_LLM_CALLS_PER_HOUR: "The most calls of the model by each instance of `agent`; 300 by default.",
  // The table puts each key between backticks: this one closes and opens them again to name three variables.
  "AWS_ENDPOINT_URL_DYNAMODB`, `…_SSM`, `…_S3": "Addresses of an emulator.",
};

export const WORKER_SETTINGS: Readonly<Record<string, string>> = {
  SVC_PRODUCT_INTENT_JSON: "The intent as JSON, at most 5 KB. Without it the product endpoints are off.",
  ...SHARED,
  SVC_INSTANCE_ID: "The name of the service.",
  SVC_LLM_TIMEOUT: "Seconds for each call of the model.",
  SVC_LLM_CALLS_PER_HOUR: "The most calls of the model.",
  SVC_NOTIFY_URL: "Secret: the address for [notifications](notifications.md).",
  SVC_NOTIFY_FORMAT: "`json`, `slack` or `teams`.",
  SVC_NOTIFY_SECRET: "Secret: signs notifications.",
  SVC_AUDIT_OTLP: "The address for exported audit entries ([telemetry](telemetry.md)).",
  SVC_AUDIT_OTLP_HEADERS: "Secret: headers with the credentials of that address.",
};

/** Variables in the code of the hosts that the tables omit: options that hosts reject, an alias, a variable of the template. */
export const OTHER_HOST_VARIABLES = [
  "SVC_TARGETS",
  "SVC_PRODUCT_CONFIG",
  "SVC_GATE_ISSUERS",
  "SVC_IDENTITY_JWT",
  "SVC_AGENT_ID",
  "SVC_CONSOLE",
];
