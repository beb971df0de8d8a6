/** Valid and invalid generated requests to every operation: the document must describe each response. */
import { describe, expect, test } from "vitest";
import type { Operation } from "../../../lib/openapi/operation.ts";
import { type Client, client, PROPOSAL } from "../../support/client.ts";
import { DAY, type TestClock } from "../../support/clock.ts";
import { openDeps, type TestOptions } from "../../support/deps.ts";
import { makeIntent } from "../../support/intents.ts";
import { app } from "../../../handlers/index.ts";
import { makeTestDocument } from "./test_documents.ts";
import { checker, type Target } from "./checker.ts";
import {
  type Field,
  listFields,
  invalidValues,
  makeRequest,
  type Sent,
  makeSent,
  type Values,
} from "./generated_requests.ts";

const DOCUMENT = makeTestDocument({ product: { ...makeIntent(), identity: {} as never } });
/** Has a protocol of its own, in which errors name no field; tested in test/lib/mcp. */
const MCP = "/mcp";
const TARGETS: Target[] = Object.entries(DOCUMENT.paths)
  .filter(([template]) => template !== MCP)
  .flatMap(([template, methods]) =>
    (Object.entries(methods) as [Target["method"], Operation][]).map(([method, operation]) => ({
      template,
      method,
      operation,
    })),
  );
const check = checker(DOCUMENT);

/** Fields that cannot be combined with the other fields of their operation. */
const SEPARATE_FIELDS: Record<string, string[]> = {
  listAuditEntries: ["contents", "tenant"],
  draftMandate: ["limits", "kpi_floor", "from"],
  askGate: ["answer"],
  checkRelease: ["answer"],
  getAuditPack: ["from", "to"],
  getCheckpoint: ["cosigned"],
  getProof: ["from", "length"],
  verifyAuditLog: ["expected_length", "expected_head"],
  sendMessage: ["text", "content", "confirm_draft"],
  // A proof must be signed, and a decision is about either a change or a proposal.
  ...Object.fromEntries(
    [
      "denyChange",
      "withdrawChange",
      "revokeConsent",
      "reviewEmergency",
      "proposeCrmFollowup",
      "freezeService",
      "unfreezeService",
      "acceptClock",
      "acceptLoss",
      "eraseContent",
      "addLateNote",
      "applyChange",
      "rollBackChange",
      "feedKpis",
      "changeStage",
      "signMandate",
      "narrowMandate",
      "resumeMandate",
      "revokeMandate",
    ].map((operation) => [operation, ["proof", "at"]]),
  ),
  approveChange: ["proof", "at", "emergency", "seen"],
  proposeChange: ["proof", "at", "sets", "stages", "promotes"],
  getConsentStatement: [
    "mandate_id",
    "narrow",
    "proposal",
    "followup",
    "verdict",
    "item",
    "seen",
    "until",
    "length",
    "head",
    "kpis",
    "over_drift",
    "step",
    "action",
  ],
};

/** Operations that succeed only in a state that these tests do not create. */
const NEEDS_OTHER_STATE = [
  // A watched log: test/lib/audit/witness_service.test.ts.
  ...["addCheckpoint", "getWatchedCheckpoint"],
  // A release gate with a GitHub App: test/lib/operations/github.
  "receiveGithubDelivery",
  // A log that lost its end: test/lib/changes/lost_entries.test.ts.
  "acceptLoss",
  // An edit by another program: test/lib/changes/restore.test.ts.
  "restoreValue",
  // A rollout in progress: test/lib/changes/rollouts/rollout.test.ts.
  ...["changeStage", "feedSamples"],
  // People with keys under `policy.mandates`: test/lib/changes/mandates.
  ...["draftMandate", "signMandate", "narrowMandate", "resumeMandate", "revokeMandate"],
];
const canSucceed = ({ operation }: Target): boolean => !NEEDS_OTHER_STATE.includes(operation.operationId);

/** Status of the change that an operation requires. */
const CHANGE: Record<string, "approved" | "applied" | "denied"> = {
  addLateNote: "denied",
  applyChange: "approved",
  eraseContent: "denied",
  revokeConsent: "approved",
  rollBackChange: "applied",
};

async function service(options: TestOptions = {}) {
  const deps = await openDeps(options);
  const fetch = app(deps);
  const ask = async (target: Target, sent: Sent, headers: HeadersInit = {}) =>
    check(target, await fetch(makeRequest(target, sent, headers)));
  return { ...client(fetch), ask, clock: deps.clock };
}

/** Creates the records that a request needs, and returns values of fields that match them. */
async function prepareRecords(api: Client & { clock: TestClock }, { operationId }: Operation): Promise<Values> {
  const { bring, propose, post, clock } = api;
  await post("kpi", { csat: 4 });
  await post("/api/chat", { message: "hello" });
  const ids = {
    applied: await bring("applied", { kpi: "csat" }),
    approved: await bring("approved", { target: "ui.theme" }),
    denied: await bring("denied", { target: "ui.colour", rationale: "" }),
    pending: (await propose({ target: "ui.menu" })).change_id,
  };
  if (operationId === "reviewEmergency")
    await post("approve", { change_id: ids.pending, approver: "oncall", note: "down", emergency: true });
  if (operationId === "unfreezeService") await post("freeze", { actor: "ops" });
  if (operationId === "acceptClock") {
    // An entry from a day ahead of the clock leaves a time in the log that a person has to accept.
    clock.shift(DAY);
    await post("kpi", { csat: 4 });
    clock.shift(-DAY);
  }
  return {
    change_id: ids[CHANGE[operationId] ?? "pending"],
    supersedes: ids.pending,
    tenant_id: PROPOSAL.tenant_id,
    ...(operationId === "rateTask" ? { task_id: await completedTask(api) } : {}),
    path: "/api/state",
    method: "GET",
    ...(operationId === "revokeConsent" ? { approver: "ana" } : {}),
    ...(operationId === "askGate" || operationId === "checkRelease" ? { head: "a".repeat(40) } : {}),
    until: "2100-01-01T00:00:00Z",
    target: "ui.x",
    ...(operationId === "draftMandate" && { targets: ["ui.*"], kinds: ["config"], tenants: ["t1"] }),
    kpi: "csat",
    tz: "Europe/Berlin",
    expected_head: "0".repeat(64),
    at: "2026-01-02T03:04:05.678Z",
    from: "2026-01-01T00:00:00Z",
    to: "2026-01-03T00:00:00Z",
  };
}

async function completedTask({ post }: Client): Promise<string> {
  const { body } = await post("/api/tasks", { title: "Look at the gaps", required_dimension: "M" });
  await post("/api/action/run-now", { action: "run_next_task" });
  return body.task_id;
}

const withName = ({ operation, ...target }: Target) => ({ ...target, operation, name: operation.operationId });
const start = async (operation: Operation) => {
  const api = await service({ intent: { policy: { break_glass: { approvers: ["oncall"] } } } });
  return { ...api, values: await prepareRecords(api, operation) };
};

/** Returns the fields of an operation that can be combined, without the cursors of pages. */
function listCombinableFields(operation: Operation): Field[] {
  const excluded = [...(SEPARATE_FIELDS[operation.operationId] ?? []), "before", "after"];
  return listFields(operation).filter(({ name }) => !excluded.includes(name));
}

const isStrict = ({ operation }: Target): boolean =>
  operation.requestBody?.content["application/json"]?.schema["additionalProperties"] === false;
const listRequired = ({ operation }: Target): Field[] =>
  listFields(operation).filter(({ required, place }) => required && place !== "path");

describe("requests that the document allows are accepted", () => {
  test.each(TARGETS.filter(canSucceed).map(withName))("$name", async (target) => {
    // The fields of a GET are in the address, so one encoding is enough.
    const form = target.operation.requestBody?.content["application/x-www-form-urlencoded"];
    const encodings = form ? (["json", "form"] as const) : (["json"] as const);
    for (const as of encodings) {
      const api = await start(target.operation);
      const { status, body } = await api.ask(target, makeSent(listCombinableFields(target.operation), api.values, as));
      // A record that the path names may be missing, so only the fields are checked.
      if (target.template.includes("{")) expect(body?.code).not.toBe("invalid_field");
      else expect(status, JSON.stringify(body)).toBeLessThan(300);
    }
  });
});

/** Parameters that request a response of a media type. */
const QUERIES_BY_TYPE: Record<string, Values> = {
  "application/json": { message: "hello" },
  "application/x-ndjson": { format: "jsonl" },
  "text/csv": { format: "csv" },
  "application/x-tar": { from: "2026-01-01T00:00:00Z", format: "tar" },
  "text/html": { message: "hello", from: "2026-01-01T00:00:00Z", format: "html" },
  "text/markdown": { file: "report-2026-W01.md" },
  "text/plain": { file: "notes.txt" },
};

const listMediaTypes = ({ responses }: Operation): string[] =>
  Object.keys((responses["200"] ?? responses["201"])!.content ?? {});

describe("each declared media type is returned on request", () => {
  const targets = TARGETS.filter(({ operation }) =>
    listMediaTypes(operation).some((media) => media !== "application/json"),
  );
  const evolved = { list: async () => [], read: async () => "# Report", write: async () => {} };
  test.each(
    targets
      .filter(canSucceed)
      .flatMap((target) => listMediaTypes(target.operation).map((media) => ({ ...withName(target), media }))),
  )("$name: $media", async ({ media, ...target }) => {
    const api = await service({ evolved });
    const query = QUERIES_BY_TYPE[media] ?? {};
    const values = { ...query, change_id: (await api.propose()).change_id };
    const fields = listFields(target.operation).filter(({ name, required }) => required || name in query);
    const answer = await api.ask(target, makeSent(fields, values), { accept: media });
    expect([answer.status, answer.media]).toEqual([200, media]);
  });

  test("these operations, and no others, have responses that are not JSON", () => {
    expect(targets.map(({ operation }) => operation.operationId)).toEqual([
      "listAuditEntries",
      "getCheckpoint",
      "getCertificate",
      "exportAuditLog",
      "getAuditPack",
      "getMetrics",
      "streamEvents",
      "sendMessage",
      "getChatHistory",
      "getEvolvedFile",
      "addCheckpoint",
      "getWatchedCheckpoint",
      "getApiPage",
    ]);
  });
});

describe("responses to minimal requests, and to each optional field, are documented", () => {
  test.each(TARGETS.map(withName))("$name", async (target) => {
    const fields = listFields(target.operation);
    const requiredFields = fields.filter(({ required }) => required);
    for (const name of ["", ...(SEPARATE_FIELDS[target.name] ?? [])]) {
      const api = await start(target.operation);
      await api.ask(
        target,
        makeSent([...requiredFields, ...fields.filter((field) => field.name === name)], api.values),
      );
    }
  });
});

describe("requests that the document does not allow are rejected with the field", () => {
  const listInvalid = ({ operation }: Target) =>
    listFields(operation).flatMap((field) => invalidValues(field.schema).map((value) => ({ field, value })));
  test.each(TARGETS.filter((target) => listInvalid(target).length > 0).map(withName))("$name", async (target) => {
    const api = await start(target.operation);
    for (const { field, value } of listInvalid(target))
      for (const as of ["json", "form"] as const) {
        const sent = makeSent(listCombinableFields(target.operation), api.values, as);
        sent[field.place][field.name] = value;
        const { status, body } = await api.ask(target, sent);
        const sentField = `${field.name}=${String(value).slice(0, 40)} as ${as}`;
        expect([status, body?.code], sentField).toEqual([400, "invalid_field"]);
        expect(body.fields.map((reported: { field: string }) => reported.field)).toContain(field.name);
      }
  });
});

describe("requests without a required field are rejected", () => {
  test.each(TARGETS.filter((target) => listRequired(target).length > 0).map(withName))("$name", async (target) => {
    const api = await start(target.operation);
    for (const { name } of listRequired(target)) {
      const rest = listCombinableFields(target.operation).filter((field) => field.name !== name);
      const { status, body } = await api.ask(target, makeSent(rest, api.values));
      // Errors of OFREP name the field in a sentence.
      const reported = body.fields?.[0]?.field ?? body.errorDetails;
      expect([status, reported], name).toEqual([400, expect.stringContaining(name)]);
    }
  });
});

describe("an unknown field of a strict request is rejected", () => {
  test.each(TARGETS.filter(isStrict).map(withName))("$name", async (target) => {
    const api = await start(target.operation);
    const sent = makeSent(listCombinableFields(target.operation), api.values);
    sent.body["no_such_field"] = 1;
    const { status, body } = await api.ask(target, sent);
    expect([status, body.fields?.[0]?.field]).toEqual([400, "no_such_field"]);
  });
});

describe("responses without an intent, and without the token, are documented", () => {
  test.each(TARGETS.map(withName))("$name", async (target) => {
    const sent = makeSent(listCombinableFields(target.operation), { change_id: "chg_1" });
    const disabled = await (await service({ intent: null })).ask(target, sent);
    const isProduct = /^\/api\/(?:product\/|inbox$|gate\b|find\b)/.test(target.template);
    expect(disabled.body?.code === "product_runtime_disabled").toBe(isProduct);
    const withToken = await (await service({ adminToken: "hunter2hunter2" })).ask(target, sent);
    const { security } = target.operation;
    // An empty alternative allows requests without a token.
    const needsToken = security.length > 0 && security.every((alternative) => Object.keys(alternative).length > 0);
    expect(withToken.status === 401).toBe(needsToken);
    const protectedAll = await service({ adminToken: "hunter2hunter2", protectAll: true });
    expect((await protectedAll.ask(target, sent)).status === 401).toBe(security.length > 0);
  });
});

describe("responses to malformed bodies and cross-site requests are documented", () => {
  test.each(
    TARGETS.filter(({ method }) => method === "post")
      .filter(canSucceed)
      .map(withName),
  )("$name", async (target) => {
    const api = await start(target.operation);
    const sent = makeSent(listCombinableFields(target.operation), api.values);
    // Errors of OFREP have no code.
    const readCode = async (headers: HeadersInit) => {
      const { status, body } = await api.ask(target, sent, headers);
      return [status, body && "code" in body ? body.code : undefined];
    };
    const hasCodes = !target.template.startsWith("/ofrep/");
    if (hasCodes) expect(await readCode({ "content-type": "text/xml" })).toEqual([415, "unsupported_media_type"]);
    expect(await readCode({ "sec-fetch-site": "cross-site" })).toEqual([403, hasCodes ? "cross_site" : undefined]);
    const large = { ...sent, body: { ...sent.body, padding: "x".repeat(70_000) } };
    expect((await api.ask(target, large)).status).toBe(413);
    const garbled = await api.ask(target, { ...sent, as: "form" }, { "content-type": "application/json" });
    expect(garbled.status).toBe(400);
  });
});
