/** What may be said to have been done to a change. */
import type { Resolution } from "../../governance/rules/change_terms.ts";
import type { Sense } from "./senses.ts";
import type { Token } from "./token.ts";

/** What may happen to a change, the one that is meant first: "dana's proposals that were denied" are denied. */
export const DEEDS = [
  "rolled_back",
  "revoked",
  "withdrawn",
  "denied",
  "expired",
  "lapsed",
  "applied",
  "approved",
  "decided",
  "closed",
  "proposed",
] as const satisfies readonly Sense[];
/** One of these. */
export type Deed = (typeof DEEDS)[number];

/** How what was never applied ended; what is approved and runs out of time has lapsed. */
export const ENDS: Readonly<Partial<Record<Deed, readonly Resolution[]>>> = {
  denied: ["denied"],
  expired: ["expired", "lapsed"],
  lapsed: ["lapsed"],
  withdrawn: ["withdrawn"],
  revoked: ["revoked"],
};

/** What a piece of a question says was done. */
export const deedOf = (token: Token | undefined): Deed | undefined =>
  token?.type === "sense" ? DEEDS.find((each) => token.senses.includes(each)) : undefined;
