/** Consent in one tap: what is signed stands beside the button that has it signed. */
import { useState } from "preact/hooks";
import { makeFields } from "../../domain/change_actions.ts";
import { asSent } from "../../domain/keys.ts";
import { makeSeenField } from "../../domain/seen.ts";
import { KeptTokenField } from "../../parts/person_fields.tsx";
import { SendFailure } from "./send_failure.tsx";
import { SignDecision } from "./sign_decision.tsx";
import { type Deciding, useDecision } from "./use_decision.tsx";
import type { Prove } from "../../parts/use_signature.tsx";

/** Approves with a key of the person whose name this is. */
export function OneTap({ name, ...deciding }: Omit<Deciding, "action"> & { name: string }) {
  const { busy, stage, error, asksToken, decide } = useDecision({ ...deciding, action: "approve" });
  const [prove, setProve] = useState<Prove | undefined>();
  const { change } = deciding;
  const approve = () =>
    prove &&
    void decide(async () => ({
      ...makeFields("approve", change, asSent(name), ""),
      ...makeSeenField("approve", change),
      ...(await prove()),
    }));
  return (
    <div class="one-tap">
      <SignDecision
        action="approve"
        change={change}
        name={name}
        note=""
        error={error}
        onProve={(given) => setProve(() => given)}
      />
      {asksToken && <KeptTokenField />}
      <SendFailure error={error} where="above" />
      {prove && (
        <button type="button" aria-disabled={busy} aria-busy={busy} onClick={approve}>
          {stage === "proving" ? "Waiting for your key…" : busy ? "Sending…" : "Approve with your key"}
        </button>
      )}
    </div>
  );
}
