/** Names of actors and changes in sentences. */
import type { Change } from "../changes/rules/change.ts";
import type { Part } from "./part.ts";

const KIND_BY_PREFIX: Readonly<Record<string, string>> = { llm: "model", peer: "peer", agent: "agent" };
const MAX_SUMMARY_LENGTH = 300;

/** Names an actor: `ana`, `the model gpt-5`, `a guardrail of the intent`. `kind` is the kind of a proposer. */
export function nameActor(name: string | null, kind?: unknown): Part[] {
  if (name === null || name === "") return ["an unnamed person"];
  if (name === "policy:guardrail") return ["a guardrail of the intent"];
  if (name === "policy:stages") return ["the rule of the rollout"];
  if (name.startsWith("policy:")) return ["the intent"];
  const [, prefix, unprefixed] = /^(llm|peer|agent):(.+)$/is.exec(name) ?? [];
  const kindName = prefix ? KIND_BY_PREFIX[prefix.toLowerCase()] : undefined;
  if (kindName) return [`the ${kindName} `, { text: unprefixed! }];
  return kind === "agent" ? ["the agent ", { text: name }] : [{ text: name }];
}

/** Names the proposer of a change, and the person who asked a model for it. */
export const nameProposer = ({
  proposer,
  proposer_kind,
  asked_by,
}: Pick<Change, "proposer" | "asked_by"> & Partial<Pick<Change, "proposer_kind">>): Part[] => [
  ...nameActor(proposer, proposer_kind),
  ...(asked_by ? [", asked by ", { text: asked_by }] : []),
];

/** Names a change by its summary and target: `“Raise the seat limit” (limits.seats for tenant t-100)`. */
export function nameChange({
  summary,
  target,
  tenant_id,
  erased,
}: Pick<Change, "summary" | "target" | "tenant_id"> & Partial<Pick<Change, "erased">>): Part[] {
  const targetPart: Part[] = [{ text: target, code: true }, " for tenant ", { text: tenant_id }];
  if (erased || summary.trim() === "") return targetPart;
  const title =
    summary.length > MAX_SUMMARY_LENGTH ? `${summary.slice(0, MAX_SUMMARY_LENGTH).toWellFormed()}…` : summary;
  return [{ text: title, quoted: true }, " (", ...targetPart, ")"];
}
