/** Verifies an export in one pass: the chain by itself, then against what was kept of it outside. */
import { isUtf8 } from "node:buffer";
import { beginning, type Chain, type Finding, follow } from "./chain.ts";
import { type Contents, newContentsCheck, isCarried } from "./contents.ts";
import { type Evidence, type Kept, Unreadable } from "./kept.ts";
import { readLines, type Pieces, whyDamaged } from "./lines.ts";
import { type Loss, readLoss, whyLost } from "./losses.ts";
import { noteLine } from "./note.ts";
import { createAutomationCheck } from "./automation.ts";
import type { Detail } from "./json.ts";
import { createPlanCheck } from "./plan_targets.ts";
import { createOwnerCheck } from "./owners.ts";
import type { Policy } from "./policy.ts";
import { createRolloutCheck } from "./rollouts.ts";
import { type Proofs, createProofCheck } from "./proofs.ts";
import type { Sightings, Witnessed } from "./witness.ts";
import { addLeaf, emptyTree, computeRoot, type Tree } from "./tree.ts";

/** `valid`: verified against data stored outside; `consistent`: nothing outside to verify it against. */
export type Verdict = "valid" | "consistent" | "bad";

/** Report of a verification. */
export interface Report {
  verdict: Verdict;
  entries: number;
  origin: string;
  /** `current_hash` of the last entry, 64 zeros without entries. */
  head: string;
  /** The first hundred. */
  findings: Finding[];
  findings_total: number;
  /** Data that the log was verified against, in words. */
  held_against: string[];
  /** Which witnesses saw the log, and how long it was. */
  witnessed: Witnessed[];
  /** Decisions that are signed. */
  proofs: Proofs;
  /** State of the contents of changes and intents; `null` where they were not requested. */
  contents: Contents | null;
  /** Losses of the end of the log that were accepted. */
  losses: Loss[];
  /** Attacks that the provided data could not show. */
  not_checked: ("tail_truncation" | "full_rewrite")[];
  remarks: string[];
}

const MOST_LISTED = 100;
const NO_HASH = "0".repeat(64);

/** Further requirements on an export. */
export interface Asked {
  /** Whose keys signed decisions must be signed with. */
  policy?: Policy | undefined;
  sightings?: Sightings | undefined;
  /** True if it must carry the contents of its changes and intents. */
  contents?: boolean | undefined;
}

/**
 * Verifies the bytes of an export. Memory stays flat: a piece, a line, and one hash a bit of the log's length. Errors:
 * `Unreadable` where the bytes are no export as the service sent it.
 */
export async function verifyExport(
  pieces: Pieces,
  evidence: Omit<Evidence, "checkpoints">,
  { policy, sightings = { witnessed: [], findings: [] }, contents = false }: Asked = {},
): Promise<Report> {
  const chain = beginning();
  const kept = evidence.kept.map((item) => ({ ...item, seen: undefined as string | undefined }));
  const byLength = new Map<number, typeof kept>();
  for (const item of kept) byLength.set(item.length, [...(byLength.get(item.length) ?? []), item]);
  const tree = kept.some(({ root }) => root !== undefined) ? emptyTree() : undefined;
  const proofs = createProofCheck(policy);
  const checkOwner = createOwnerCheck();
  const checkAutomation = createAutomationCheck();
  const rollouts = createRolloutCheck();
  const plans = createPlanCheck();
  const learn = (change: string, content: Detail): string | undefined =>
    rollouts.learn(change, content) ?? plans.learn(change, content);
  const carried = contents ? newContentsCheck(proofs.principalsOf, learn) : undefined;
  const losses: Loss[] = [];
  const findings: Finding[] = [];
  let total = 0;
  let number = 0;
  const found = (finding: Finding | undefined): void => {
    if (finding && ++total <= MOST_LISTED) findings.push(finding);
  };
  const reach = (): void => {
    for (const item of byLength.get(chain.lines) ?? []) item.seen = stateOf(item, chain, tree);
  };

  const judge = (line: string): void => {
    if (carried && isCarried(line)) return found(carried.take(line, number));
    const broken = follow(chain, line);
    found(broken && { ...broken, line: number });
    for (const one of carried?.follow(chain.last && chain.entry, number) ?? []) found(one);
    if (chain.entry) found(proofs.check(chain.entry, number));
    if (chain.entry) found(checkOwner(chain.entry, number));
    if (chain.entry) found(checkAutomation(chain.entry, number));
    if (chain.entry) found(rollouts.check(chain.entry, number));
    if (chain.entry) found(plans.check(chain.entry, number));
    const loss = chain.entry && readLoss(chain.entry);
    if (loss) losses.push(loss);
    if (tree) addLeaf(tree, chain.last?.hash ?? NO_HASH);
    if (byLength.size > 0) reach();
  };

  reach();
  for await (const { lines, isText, last } of readLines(pieces))
    for (const [index, line] of lines.entries()) {
      number++;
      const state = index === lines.length - 1 ? last : "ended";
      const damage = whyDamaged(line, number, state);
      if (damage !== undefined) throw new Unreadable(`this is no export as the service sent it: ${damage}`);
      const isReadable = state === "ended" && (isText || isUtf8(Buffer.from(line, "latin1")));
      try {
        judge(isReadable ? line : "");
      } catch (error) {
        // No line may end the verification: what nobody thought of is a finding too.
        found({ line: number, entry: null, rule: "form", message: `it could not be judged: ${String(error)}` });
      }
    }
  if (number === 0) throw new Unreadable("there is nothing to verify: the file is empty");

  for (const one of carried?.end() ?? []) found(one);
  const origin = Buffer.from(chain.origin ?? "", "latin1").toString();
  for (const finding of [...evidence.findings, ...sightings.findings]) found(finding);
  for (const item of kept) found(whyNotHeld(item, { origin, entries: chain.lines, losses }));
  // Every log continues an empty one, so having kept that shows nothing.
  const held = kept.some(({ length }) => length > 0);
  return {
    verdict: total > 0 ? "bad" : held ? "valid" : "consistent",
    entries: chain.lines,
    origin,
    head: chain.last?.hash ?? "",
    findings,
    findings_total: total,
    held_against: kept.map(({ what }) => what),
    witnessed: sightings.witnessed,
    proofs: proofs.proofs,
    contents: carried?.contents ?? null,
    losses,
    not_checked: held ? [] : ["tail_truncation", "full_rewrite"],
    remarks: [...evidence.remarks, ...remarkUnread(rollouts.countUnread())],
  };
}

/** Says that decisions were not computed again. */
export const remarkUnread = (count: number): string[] =>
  count === 0 ? [] : [`decisions of ${count} rollouts were not computed again: their plans are not in this file`];

const stateOf = ({ head }: Kept, chain: Chain, tree: Tree | undefined): string | undefined =>
  head === undefined ? tree && computeRoot(tree) : chain.last?.hash;

function whyNotHeld(
  item: Kept & { seen: string | undefined },
  { origin, entries, losses }: { origin: string; entries: number; losses: readonly Loss[] },
): Finding | undefined {
  const why = whyLost(losses, item.length);
  const broken = (rule: Finding["rule"], message: string): Finding => ({ line: null, entry: null, rule, message });
  if (item.origin !== undefined && entries > 0 && item.origin !== noteLine(origin))
    return broken("origin", `${item.what} is of another log, ${item.origin}`);
  if (item.length > entries)
    return broken("tail_truncation", `the log has ${entries} entries, and ${item.what} was kept of it${why}`);
  if (item.seen === (item.head ?? item.root)) return undefined;
  return broken("full_rewrite", `the log does not continue ${item.what}${why}`);
}
