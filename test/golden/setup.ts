/** The set-up of the recorded service: fixed time, ids, keys and intent, so that each run produces the same bytes. */
import { createPublicKey, sign } from "node:crypto";
import { vi } from "vitest";
import { formatVerifierKey, parseVerifierKey } from "../../lib/audit/note.ts";
import { type Watch, makeWatch } from "../../lib/audit/witness_service.ts";
import type { CheckpointSigner } from "../../lib/audit/checkpoint.ts";
import { type Ids, portableSha256 } from "../../lib/kit/platform.ts";
import type { Store } from "../../lib/store/store.ts";
import { processMetrics } from "../../local/metrics.ts";
import { testClock } from "../support/clock.ts";
import type { TestOptions } from "../support/deps.ts";
import { filesInMemory } from "../support/files_in_memory.ts";
import type { Manifest } from "../support/intents.ts";
import { passkey, seededKey, sshSigner } from "../support/passkeys.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { person } from "../support/signed.ts";

export const ANA = sshSigner("sk-ssh-ed25519@openssh.com", seededKey("ana"));
export const BO = passkey("EdDSA", { keys: seededKey("bo"), credential_id: "Ym8ncyBwYXNza2V5" });
export const AGENT = "agent:pricing";
export const AGENT_SECRET = "the pricing agent's own secret";

export const INTENT: Manifest = {
  version: "2026.1",
  update_epoch: 1,
  product_type: "crm",
  kpis: {
    csat: { baseline: 3, target: 5 },
    nrr_quarterly: { baseline: 1, target: 1.1, weight: 2, deadline: "2026-12-31" },
  },
  principals: {
    ana: person(ANA),
    bo: person(BO),
    cy: { kind: "person" },
    [AGENT]: { kind: "agent", token_sha256: portableSha256(AGENT_SECRET) },
  },
  policy: {
    approvers: ["ana", "bo", "cy"],
    required_approvers: { standard: 1, major: 2 },
    self_approval: false,
    signed_only: false,
    consent_ttl_hours: 72,
    apply_when: ["manual", "approved", "scheduled"],
    minor: { kinds: ["config"], targets: ["ui.small.*"], max_risk: "low", max_affected_users: 10 },
    forbidden_targets: ["billing.*"],
    guardrails: [{ kpi: "csat", max_regression: 0.5, action: "rollback", targets: ["ui.theme"], hours: 24 }],
    break_glass: { approvers: ["cy"], review_hours: 24 },
  },
};

/** The intent under which people sign mandates. */
export const MANDATE_INTENT: Manifest = {
  ...INTENT,
  update_epoch: 2,
  policy: { approvers: ["ana", "bo"], signed_only: true, mandates: { targets: ["price.*"] } },
};

/** Creates ids from the time and a number within the millisecond; another id does not change those of other times. */
function idsByTime(): Ids {
  const counts = new Map<number, number>();
  return {
    uuid(now) {
      const number = (counts.get(now) ?? 0) + 1;
      counts.set(now, number);
      const time = now.toString(16).padStart(12, "0");
      return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`;
    },
  };
}

function createSigner(seed: string): CheckpointSigner {
  const { privateKey } = seededKey(seed);
  // The last 32 bytes of the DER encoding are the key itself.
  const raw = createPublicKey(privateKey).export({ type: "spki", format: "der" }).subarray(-32);
  return { publicKey: new Uint8Array(raw), sign: (text) => new Uint8Array(sign(null, text, privateKey)) };
}

/** Lets the service watch its own log, so that it can cosign checkpoints. */
export function createWatch(origin: string): Watch {
  const log = formatVerifierKey({ name: origin, publicKey: createSigner("log").publicKey }, portableSha256);
  return makeWatch({
    name: "witness.example/w1",
    signer: createSigner("witness"),
    logs: [parseVerifierKey(log, portableSha256)!],
  });
}

/** Creates the options of the service. `crypto.randomUUID` returns a fixed id until `vi.restoreAllMocks`. */
export function createSetup(store: Store) {
  vi.spyOn(crypto, "randomUUID").mockReturnValue("00000000-0000-4000-8000-000000000000");
  const systems = [{ name: "scripted", type: "file", match: ["*"], path: "product_config.json" }];
  const adapter = Object.assign(scriptedAdapter(), { configuration: { hash: "ab".repeat(32), systems } });
  const files = filesInMemory();
  const options = {
    store,
    adapter,
    clock: testClock("2026-01-05T08:00:00.000Z"),
    ids: idsByTime(),
    intent: INTENT,
    evolved: files,
    checkpointSigner: createSigner("log"),
    attestationSigner: createSigner("attestation"),
    metrics: processMetrics("0.0.0"),
    recordIntent: true,
    owner: "golden",
  } satisfies TestOptions;
  return { adapter, files, options };
}
