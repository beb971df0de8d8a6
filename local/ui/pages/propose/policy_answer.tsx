import type { Policy, PolicyAnswer as Answer } from "../../core/api_types.ts";
import { formatCount, localizeTimes } from "../../core/format.ts";
import { listValueRules } from "../../domain/value_rules.ts";
import { Notice } from "../../parts/notice.tsx";
import { SentenceList, UserText } from "../../parts/text.tsx";

/** The tier of the draft, the approvals that it needs, and the rules for its value. */
export function PolicyAnswer({ answer, policy }: { answer: Answer; policy: Policy | undefined }) {
  const { preview } = answer;
  if (preview?.refused)
    return (
      <Notice tone="bad">
        <p>
          <UserText text={localizeTimes(preview.refused)} />
        </p>
      </Notice>
    );
  const rules = listValueRules(answer);
  // An empty `of` means that anyone may fill the quorum; in a rule "owners …" it means that no owner may approve.
  const needed = preview?.missing.map(({ count, of, rule }) => {
    const from = rule.startsWith("owners ") || of.length > 0 ? ` from ${of.join(" or ") || "nobody who may"}` : "";
    return `${formatCount(count, "approval")}${from}`;
  });
  return (
    <>
      {preview && needed && (
        <>
          <p>
            It will be a <strong>{preview.tier}</strong> change and{" "}
            {needed.length === 0 ? (
              "approved by the intent itself"
            ) : (
              <UserText text={`needs ${needed.join(", and ")}`} />
            )}
            .
          </p>
          {preview.tier_reason !== null && <p>{preview.tier_reason}</p>}
          {needed.length > 0 && policy?.consent_ttl_hours !== undefined && (
            <p class="quiet">Without approval it expires after {policy.consent_ttl_hours} hours.</p>
          )}
        </>
      )}
      {rules.length > 0 && <SentenceList label="Allowed values" of={rules} />}
    </>
  );
}
