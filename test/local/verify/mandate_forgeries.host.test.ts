/** Verifies that both verifiers reject, with the same message, certificates of a log whose owner widened a mandate. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { verifyCertificate } from "../../../local/verify/certificate.ts";
import { fingerprint, decodeBase64 } from "../../../local/verify/policy.ts";
import { data, PATH } from "../../lib/audit/reference_tree.ts";
import { rebuildCertificate } from "../../support/certificate_parts.ts";
import { DAY } from "../../support/clock.ts";
import { openWithMandates, SIGNERS } from "../../support/mandates.ts";
import { makeCheckpoint, rehashed } from "../../tamper/world.ts";

type Detail = Record<string, unknown>;
type Intent = { principals: Record<string, Detail>; policy: Detail };

let entries: AuditEntry[];
let honest: string;
let files: string[];

/** Returns a certificate of another log; `addedIntent` is added to its intents, `from` may be a certificate of another content. */
function certify(log: readonly AuditEntry[], addedIntent?: string, from = honest): string {
  const all = rehashed(log, 0);
  const leaves = all.map((entry) => data(entry.current_hash));
  const proofs = all
    .filter(
      ({ event_type, change_id }) =>
        change_id !== "" || event_type.startsWith("mandate_") || event_type === "loss_accepted",
    )
    .map((entry) =>
      [
        "c2sp.org/tlog-proof@v1",
        `extra ${Buffer.from(JSON.stringify(entry)).toString("base64")}`,
        `index ${entry.id - 1}`,
        ...PATH(entry.id - 1, leaves).map((one) => one.toString("base64")),
        "",
        makeCheckpoint(all, all.length),
      ].join("\n"),
    );
  let isFirst = true;
  return rebuildCertificate(from, (part, name) => {
    if (name === "intent" && addedIntent !== undefined) return [part, `${addedIntent}\n`];
    if (name !== "proof") return part;
    // The first proof is replaced by all new ones, and the others are removed.
    const replacement = isFirst ? proofs : null;
    isFirst = false;
    return replacement;
  });
}

type EditDetail = (detail: Detail) => Detail;
/** Edits the detail of the first or last entry of a type. */
const edit = (event: string, editDetail: EditDetail, last = false): AuditEntry[] => {
  const at = entries[last ? "findLastIndex" : "findIndex"](({ event_type }) => event_type === event);
  return entries.map((entry, index) =>
    index === at ? { ...entry, detail: JSON.stringify(editDetail(JSON.parse(entry.detail) as Detail)) } : entry,
  );
};
const removeSignature: EditDetail = ({ proof: _, statement: __, key: ___, ...detail }) => detail;

/** Replaces a signature by one of una, whose key signs unattended. */
const unattended: EditDetail = (detail) => {
  const text = (detail["statement"] as string).replace('"approver":"bo"', '"approver":"una"');
  const { public_key } = SIGNERS["una"]!.key as { public_key: string };
  const key = fingerprint(decodeBase64(public_key.split(" ")[1], "base64")!);
  return {
    ...detail,
    approver: "una",
    actor: "una",
    authenticated: "signature_unattended",
    statement: text,
    proof: SIGNERS["una"]!.sign(text),
    key,
  };
};

const dayAfter = (time: string): string => new Date(Date.parse(time) + DAY).toISOString();

/**
 * Returns a certificate whose apply is under another intent, and a day later: beyond the end that `max_days: 1` allows. The other
 * cases do not depend on the time.
 */
function withIntent(editIntent: (intent: Intent) => void): string {
  let intent!: Intent;
  rebuildCertificate(honest, (part, name) => {
    if (name === "intent") intent = JSON.parse(part) as Intent;
    return part;
  });
  editIntent(intent);
  const text = JSON.stringify(intent);
  const manifest_hash = createHash("sha256").update(text).digest("hex");
  const log = edit("change_applied", (detail) => ({ ...detail, manifest_hash })).map((one) =>
    one.event_type === "change_applied" ? { ...one, timestamp: dayAfter(one.timestamp) } : one,
  );
  return certify(log, text);
}

/** Returns a certificate of the change with another content. */
function withContent(over: Detail): string {
  let text = "";
  const file = rebuildCertificate(honest, (part, name) => {
    if (name !== "content") return part;
    text = JSON.stringify({ ...(JSON.parse(part) as Detail), ...over });
    return `${text}\n`;
  });
  const digest = createHash("sha256").update(text).digest("hex");
  const { apply_when } = over;
  const log = entries.map((entry) => {
    const detail = JSON.parse(entry.detail) as Detail;
    const isProposal = entry.event_type === "change_proposed";
    const own = { ...detail, digest, ...(isProposal && apply_when !== undefined && { apply_when }) };
    return detail["digest"] === undefined ? entry : { ...entry, detail: JSON.stringify(own) };
  });
  return certify(log, undefined, file);
}

const widened = { narrow: { targets: ["*"], tenants: "all", max_per_day: 9999, until: "9999-01-01T00:00:00.000Z" } };
const STEP = { relative: 0.05, hours: 24 };
const APPROVED = "it was approved by a mandate: ";
const APPLIED = "it was applied by a mandate: ";
const NOT_SIGNED = "it must be signed by ana, and has no signature";
/** Forgeries of the log that `beforeAll` makes, and the messages of both verifiers. */
const FORGED: readonly (readonly [forgery: string, forge: () => string, messages: readonly string[]])[] = [
  ["no forgery", () => certify(entries), []],
  [
    "an unsigned narrowing that widens bounds",
    () => certify(edit("mandate_narrowed", (one) => ({ ...removeSignature(one), ...widened }))),
    [NOT_SIGNED, `${APPROVED}a narrowing of its mandate makes a bound wider`],
  ],
  [
    "a narrowing that gives it to another agent",
    () => certify(edit("mandate_narrowed", (one) => ({ ...removeSignature(one), narrow: { agent: "agent:other" } }))),
    [NOT_SIGNED, `${APPROVED}a narrowing of its mandate makes a bound wider`],
  ],
  ...(
    [
      ["moves a floor down", { kpi_floor: { csat: 2 } }],
      ["drops the schema", { limits: { max_step: { relative: 0.05, hours: 24 } } }],
      ["allows larger values", { limits: { schema: { type: "number", maximum: 201 }, max_step: STEP } }],
      [
        "allows larger steps",
        { limits: { schema: { type: "number", maximum: 200 }, max_step: { ...STEP, relative: 1 } } },
      ],
    ] as const
  ).map(
    ([name, narrow]) =>
      [
        `a narrowing that ${name}`,
        () => certify(edit("mandate_narrowed", (one) => ({ ...one, narrow }))),
        ["its statement does not match the entry", `${APPROVED}a narrowing of its mandate makes a bound wider`],
      ] as const,
  ),
  [
    "a loss between its signatures and the approval",
    () => {
      const at = entries.findIndex(({ event_type }) => event_type === "change_proposed");
      // The first entry has the hash of the intent, which the entry of a loss needs.
      const [inForce] = entries;
      const detail = JSON.stringify({ ...JSON.parse(inForce!.detail), actor: "ana", note: "", length: 3, known: {} });
      const loss = { ...entries[at]!, event_type: "loss_accepted", change_id: "", tenant: "", detail } as AuditEntry;
      return certify(entries.toSpliced(at, 0, loss));
    },
    [NOT_SIGNED, `${APPROVED}its mandate was suspended, not active`],
  ],
  // The signatures are entries 3 and 4; the last of them activated the mandate.
  [
    "a consent that names another entry than the one that activated its mandate",
    () =>
      certify(edit("consent_decision", (one) => ({ ...one, mandate: { ...(one["mandate"] as Detail), entry: 3 } }))),
    [`${APPROVED}its mandate.entry is not the entry that activated the mandate`],
  ],
  // Its bounds are 9 a day and 5 open; the change itself takes one of each, so that 8 and 4 are left.
  ...[
    { today: 9, open: 4 },
    { today: 8, open: 5 },
  ].map(
    (left) =>
      [
        `more room than its bounds: ${JSON.stringify(left)}`,
        () =>
          certify(edit("consent_decision", (one) => ({ ...one, mandate: { ...(one["mandate"] as Detail), left } }))),
        [`${APPROVED}it is outside the bounds of its mandate: left`],
      ] as const,
  ),
  [
    "a value outside the schema of its limits",
    () => withContent({ value: 300 }),
    [`${APPROVED}it is outside the bounds of its mandate: schema`],
  ],
  [
    "an unsigned narrowing",
    () => certify(edit("mandate_narrowed", removeSignature)),
    [NOT_SIGNED, `${APPROVED}a narrowing of its mandate is not signed by a person who may sign the mandate`],
  ],
  [
    "a key that signs unattended",
    () => certify(edit("mandate_signed", unattended, true)),
    [`${APPROVED}its mandate has 1 of 2 signatures`],
  ],
  [
    "other systems in its last signature",
    () => certify(edit("mandate_signed", (one) => ({ ...one, systems: [] }), true)),
    [
      "its statement does not match the entry",
      `${APPROVED}an entry of its mandate does not follow from the earlier entries`,
    ],
  ],
  [
    "an apply after its end",
    () =>
      certify(
        entries.map((one) =>
          one.event_type === "change_applied" ? { ...one, timestamp: "2999-01-01T00:00:00.000Z" } : one,
        ),
      ),
    [`${APPLIED}it is outside the bounds of its mandate: until`],
  ],
  [
    "a signer without a group of the identity provider",
    () => withIntent(({ principals }) => void (principals["bo"]!["idp"] = ["release"])),
    [`${APPLIED}its mandate has 1 of 2 signatures`],
  ],
  [
    "owners who did not sign",
    () => withIntent(({ policy }) => void (policy["owners"] = [{ targets: ["*.basic"], approvers: ["olga"] }])),
    [`${APPLIED}its mandate has 0 of 1 signatures of the owners of *.basic`],
  ],
  ...(
    [
      ["targets", { targets: ["ui.*"] }],
      ["until", { targets: ["price.*"], max_days: 1 }],
    ] as const
  ).map(
    ([bound, mandates]) =>
      [
        `a policy that allows less of ${bound}`,
        () => withIntent(({ policy }) => void (policy["mandates"] = mandates)),
        [`${APPLIED}it is outside the bounds of its mandate: ${bound}`],
      ] as const,
  ),
  [
    "a system that its signers did not see",
    () =>
      certify(
        edit("change_proposed", (one) => ({
          ...one,
          places: [{ tenant_id: "t1", target: "price.basic", system: "other", place: "x" }],
        })),
      ),
    [`${APPROVED}it is outside the bounds of its mandate: systems`],
  ],
  [
    "a number above the changes of a day",
    () =>
      certify(edit("consent_decision", (one) => ({ ...one, mandate: { ...(one["mandate"] as Detail), number: 10 } }))),
    [`${APPROVED}it is outside the bounds of its mandate: max_per_day`],
  ],
  ...(
    [
      ["max_affected_users", { affected_users: undefined }],
      ["limits", { value: undefined }],
      ["apply_when", { apply_when: "2027-01-01T00:00:00.000Z" }],
      ["stages", { stages: {} }, "its stages are not those of its content"],
    ] as const
  ).map(
    ([bound, over, ...more]) =>
      [
        `a content that breaks ${bound}`,
        () => withContent(over),
        [...more, `${APPROVED}it is outside the bounds of its mandate: ${bound}`],
      ] as const,
  ),
  [
    "owners of other targets",
    () => withIntent(({ policy }) => void (policy["owners"] = [{ targets: ["ui.*"], approvers: ["olga"] }])),
    [],
  ],
];

beforeAll(async () => {
  const { activate, propose, apply, decideOn, api } = await openWithMandates();
  const limits = { schema: { type: "number", maximum: 200 }, max_step: { relative: 0.05, hours: 24 } };
  const id = await activate({ limits, kpi_floor: { csat: 3 } });
  await decideOn("mandate_narrow", id, "ana", {
    narrow: {
      max_per_day: 9,
      kpi_floor: { csat: 3.5 },
      limits: { ...limits, schema: { ...limits.schema, minimum: 1 } },
    },
  });
  const { change_id } = (await propose()).body;
  await apply(change_id);
  honest = (await api.get(`changes/${change_id}/certificate`)).text;
  const { text } = await api.get("audit?format=jsonl");
  entries = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEntry);
  files = FORGED.map(([, forge]) => forge());
});

const python = (text: string): unknown => {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  try {
    writeFileSync(join(folder, "certificate"), text);
    const args = ["docs/verify_audit.py", "certificate", join(folder, "certificate"), "--json"];
    return JSON.parse(spawnSync("python3", args, { encoding: "utf8" }).stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test.each(FORGED.map(([name, , messages], index) => [name, messages, index] as const))(
  "both verifiers report the same about a certificate with %s",
  (_, messages, index) => {
    const report = verifyCertificate(Buffer.from(files[index]!), { acceptedManifests: [] });
    expect(report.findings.map(({ message }) => message)).toEqual(messages);
    expect(python(files[index]!)).toEqual(JSON.parse(JSON.stringify(report)));
  },
);
