/** Which changes a query asks for, and what they are held against beside themselves. */
import type { DriftEpisode } from "../../governance/drift.ts";
import type { ProposerKind } from "../../governance/rules/actor.ts";
import type { Kind, Resolution, Risk, Status, Tier } from "../../governance/rules/change.ts";
import type { Outcome, Verdict } from "../../governance/rules/outcome.ts";
import type { Event, Role } from "./row.ts";

/** Which changes; what is left out asks for nothing. A list means any of its members. */
export interface ChangeFilter {
  change_id?: string | readonly string[] | undefined;
  tenant_id?: string | readonly string[] | undefined;
  status?: Status | readonly Status[] | undefined;
  /** How a denied change came to its end. */
  resolution?: Resolution | readonly Resolution[] | undefined;
  /** Of several names any. */
  person?: { name: string | readonly string[]; as: Role } | undefined;
  proposer_kind?: ProposerKind | readonly ProposerKind[] | undefined;
  risk?: Risk | readonly Risk[] | undefined;
  tier?: Tier | readonly Tier[] | undefined;
  kind?: Kind | readonly Kind[] | undefined;
  /** Compared without case; `*` stands for any characters. */
  target?: string | readonly string[] | undefined;
  kpi?: string | readonly string[] | undefined;
  /** Of applied changes, those rolled back since included. */
  verdict?: Verdict | readonly Verdict[] | undefined;
  /** Whether the host no longer shows it. */
  drifted?: boolean | undefined;
  /** Whether somebody consented in an emergency. */
  emergency?: boolean | undefined;
  /** Whether its proposer says that it can be undone. */
  reversible?: boolean | undefined;
  /** Whether its proposer gave a rationale. */
  reasoned?: boolean | undefined;
  /** How many people it affects, where that was stated: both ends inclusive. */
  affected_users?: { from?: number | undefined; to?: number | undefined } | undefined;
  /** Words with which words of its summary, rationale or target begin, all of them, without case, numbers whole; or its whole id. */
  text?: string | undefined;
  /** Something happened to it from a moment on and before another, both RFC 3339; without either: ever. */
  period?: { of: Event; from?: string | undefined; to?: string | undefined } | undefined;
}

/** What changes are held against beside themselves. */
export interface Beside {
  drift: ReadonlyMap<string, DriftEpisode>;
  outcomes: ReadonlyMap<string, Outcome>;
}
