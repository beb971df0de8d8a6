/** Starts the service as its own process for browser tests; major changes need two approvers. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve, type Server, temporaryFolder } from "../e2e/server.ts";

/** The intent that the browser tests run under. */
export const INTENT = {
  product_id: "acme-crm",
  product_type: "crm",
  version: "1",
  approved_by: "head@acme.example",
  update_epoch: 1,
  kpis: { nrr_quarterly: { baseline: 1.02, target: 1.12 }, incident_rate: { baseline: 0.04, target: 0.01 } },
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 },
    required_approvers: { standard: 1, major: 2 },
    approvers: ["ana", "bo", "cy"],
    self_approval: false,
    forbidden_targets: ["billing.*"],
    guardrails: [{ kpi: "incident_rate", max_regression: 0.02, action: "alert" }],
  },
};

export const TOKEN = "a-token-for-tests";

/** A running service and helpers for its API. */
export interface Service {
  server: Server;
  url: string;
  folder: string;
  /** Path of the host product's configuration file. */
  config: string;
  /** Sends a form with the admin token and returns the response body; throws on an error status. */
  post(path: string, fields: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** Proposes a change with defaults and returns its id. */
  propose(fields?: Record<string, string>): Promise<string>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- responses have no type
export type Answer = any;

const [INTENT_OPTION, CONFIG_OPTION] = ["--product-intent=intent.json", "--product-config=config.json"];

/** Options of `startService`. */
export interface StartOptions {
  /** A stopped service whose folder and port are used again. */
  before?: Service;
  intent?: object;
  runtime?: "on" | "off";
  /** Without an adapter a change is recorded and set nowhere. */
  adapter?: "file" | "none";
  args?: readonly string[];
  env?: Record<string, string>;
}

/** Starts a service with a new process. */
export async function startService({
  before,
  intent = INTENT,
  runtime = "on",
  adapter = "file",
  args = [],
  env = {},
}: StartOptions = {}): Promise<Service> {
  const folder = before?.folder ?? temporaryFolder();
  writeFileSync(join(folder, "intent.json"), JSON.stringify(intent));
  const port = before ? [`--port=${new URL(before.url).port}`] : [];
  const product = runtime === "off" ? [] : adapter === "none" ? [INTENT_OPTION] : [INTENT_OPTION, CONFIG_OPTION];
  // With the interval 0, cycles run only on request.
  const options = [...product, "--cycle-interval=0", ...port, ...args];
  const server = await serve(folder, options, { SVC_ADMIN_TOKEN: TOKEN, ...env });
  const { url } = server;
  const read = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text);
  };
  const post = async (path: string, fields: Record<string, string>): Promise<Answer> =>
    read(
      await fetch(new URL(path, url), {
        method: "POST",
        body: new URLSearchParams(fields),
        headers: { "x-svc-admin-token": TOKEN },
      }),
    );
  return {
    server,
    url,
    folder,
    config: join(folder, "config.json"),
    post,
    get: async (path) => read(await fetch(new URL(path, url))),
    propose: async (fields = {}) => (await post("api/product/propose", { ...PROPOSAL, ...fields })).change_id,
  };
}

/** Fields of a proposal that one approver can approve. */
export const PROPOSAL = {
  tenant_id: "t1",
  kind: "config",
  target: "limits.uploads",
  summary: "Raise the limit",
  rationale: "Customers ask for it.",
  affected_users: "40",
  proposer: "pat",
  value: "25",
};
