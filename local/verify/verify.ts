/** Verifies an export in one pass: its chain, and that it continues the states of the log that were stored outside. */
import { isUtf8 } from "node:buffer";
import { emptyChain, type Chain, type Finding, verifyLine } from "./chain.ts";
import { type Contents, createContentsCheck } from "./contents.ts";
import { isContentLine } from "./line.ts";
import { type Evidence, type LogState, Unreadable } from "./evidence.ts";
import { readLines, type Chunks, findDamage } from "./lines.ts";
import { type Loss, readLoss, explainLoss } from "./losses.ts";
import { escapeNoteLine } from "./note.ts";
import { createAutomationCheck } from "./automation.ts";
import type { JsonObject } from "./json.ts";
import { createPlanCheck } from "./plan_targets.ts";
import { createOwnerCheck } from "./owners.ts";
import type { KeysByName } from "./policy.ts";
import { createRolloutCheck } from "./rollouts.ts";
import { type Proofs, createProofCheck } from "./proofs.ts";
import type { WitnessReport, WitnessedLog } from "./witness.ts";
import { addLeaf, emptyTree, computeRoot, type Tree } from "./tree.ts";

/** `valid`: verified against data stored outside; `consistent`: without faults, but there was no such data. */
export type Verdict = "valid" | "consistent" | "bad";

/** Report of a verification. */
export interface Report {
  verdict: Verdict;
  entries: number;
  origin: string;
  /** `current_hash` of the last entry; 64 zeros without entries, empty if the last line is no entry. */
  head: string;
  /** The first 100. */
  findings: Finding[];
  findings_total: number;
  /** Descriptions of the data that the log was verified against. */
  held_against: string[];
  /** The longest log that each witness cosigned. */
  witnessed: WitnessedLog[];
  /** Counts of signed decisions. */
  proofs: Proofs;
  /** State of the contents of changes and intents; `null` where they were not requested. */
  contents: Contents | null;
  /** Losses of the end of the log that were accepted. */
  losses: Loss[];
  /** Attacks that the provided data cannot reveal. */
  not_checked: ("tail_truncation" | "full_rewrite")[];
  remarks: string[];
}

const MAX_LISTED_FINDINGS = 100;
const NO_HASH = "0".repeat(64);

/** Requirements on an export in addition to a valid chain. */
export interface VerifyOptions {
  /** Keys that decisions must be signed with. */
  policy?: KeysByName | undefined;
  witnessReport?: WitnessReport | undefined;
  /** True if it must carry the contents of its changes and intents. */
  contents?: boolean | undefined;
}

/**
 * Verifies the bytes of an export. Memory is bounded: a chunk, a line, and the O(log n) hashes of a Merkle tree. Errors:
 * `Unreadable` where the bytes are not an export as the service sent it.
 */
export async function verifyExport(
  chunks: Chunks,
  evidence: Omit<Evidence, "checkpoints">,
  { policy, witnessReport = { witnessed: [], findings: [] }, contents = false }: VerifyOptions = {},
): Promise<Report> {
  const chain = emptyChain();
  const states = evidence.states.map((state) => ({ ...state, computed: undefined as string | undefined }));
  const statesByLength = new Map<number, typeof states>();
  for (const state of states) statesByLength.set(state.length, [...(statesByLength.get(state.length) ?? []), state]);
  const tree = states.some(({ root }) => root !== undefined) ? emptyTree() : undefined;
  const proofs = createProofCheck(policy);
  const rollouts = createRolloutCheck();
  const plans = createPlanCheck();
  const entryChecks = [proofs.check, createOwnerCheck(), createAutomationCheck(), rollouts.check, plans.check];
  const addContent = (change: string, content: JsonObject): string | undefined =>
    rollouts.addContent(change, content) ?? plans.addContent(change, content);
  const contentsCheck = contents ? createContentsCheck(proofs.findPrincipals, addContent) : undefined;
  const losses: Loss[] = [];
  const findings: Finding[] = [];
  let total = 0;
  let number = 0;
  const addFinding = (finding: Finding | undefined): void => {
    if (finding && ++total <= MAX_LISTED_FINDINGS) findings.push(finding);
  };
  const computeStates = (): void => {
    for (const state of statesByLength.get(chain.lines) ?? []) state.computed = computeState(state, chain, tree);
  };

  const checkLine = (line: string): void => {
    if (contentsCheck && isContentLine(line)) return addFinding(contentsCheck.checkContent(line, number));
    const chainFinding = verifyLine(chain, line);
    addFinding(chainFinding && { ...chainFinding, line: number });
    // An entry whose hashes are not hex digits leaves `chain.last` undefined. The check of contents treats it as no entry.
    for (const finding of contentsCheck?.checkEntry(chain.last && chain.entry, number) ?? []) addFinding(finding);
    const { entry } = chain;
    if (entry) for (const check of entryChecks) addFinding(check(entry, number));
    const loss = entry && readLoss(entry);
    if (loss) losses.push(loss);
    if (tree) addLeaf(tree, chain.last?.hash ?? NO_HASH);
    if (statesByLength.size > 0) computeStates();
  };

  // States of length 0 are those before the first line.
  computeStates();
  for await (const { lines, isText, lastState } of readLines(chunks))
    for (const [index, line] of lines.entries()) {
      number++;
      const lineState = index === lines.length - 1 ? lastState : "ended";
      const damage = findDamage(line, number, lineState);
      if (damage !== undefined) throw new Unreadable(`this is not an export as the service sent it: ${damage}`);
      // `isText`: the batch is UTF-8 as a whole. If not, its lines are checked alone; they have one character for each byte.
      const isReadable = lineState === "ended" && (isText || isUtf8(Buffer.from(line, "latin1")));
      try {
        // An unreadable line is checked as an empty one, which is no entry.
        checkLine(isReadable ? line : "");
      } catch (error) {
        // An unexpected error must not end the verification: it becomes a finding.
        addFinding({
          line: number,
          entry: null,
          rule: "form",
          message: `an unexpected error stopped its check: ${String(error)}`,
        });
      }
    }
  if (number === 0) throw new Unreadable("there is nothing to verify: the file is empty");

  for (const finding of contentsCheck?.finish() ?? []) addFinding(finding);
  // Restores the text of the origin from its bytes.
  const origin = Buffer.from(chain.origin ?? "", "latin1").toString();
  for (const finding of [...evidence.findings, ...witnessReport.findings]) addFinding(finding);
  for (const state of states) addFinding(findStateMismatch(state, { origin, entries: chain.lines, losses }));
  // Every log continues an empty one, so the state of an empty log proves nothing.
  const hasEvidence = states.some(({ length }) => length > 0);
  const verdictWithoutFindings = hasEvidence ? "valid" : "consistent";
  return {
    verdict: total > 0 ? "bad" : verdictWithoutFindings,
    entries: chain.lines,
    origin,
    head: chain.last?.hash ?? "",
    findings,
    findings_total: total,
    held_against: states.map(({ description }) => description),
    witnessed: witnessReport.witnessed,
    proofs: proofs.proofs,
    contents: contentsCheck?.contents ?? null,
    losses,
    not_checked: hasEvidence ? [] : ["tail_truncation", "full_rewrite"],
    remarks: [...evidence.remarks, ...listUnreadRemarks(rollouts.countUnread())],
  };
}

/** Lists the remark that decisions of `count` rollouts were not computed again; empty for 0. */
export const listUnreadRemarks = (count: number): string[] =>
  count === 0 ? [] : [`decisions of ${count} rollouts were not computed again: their stages are not in this file`];

const computeState = ({ head }: LogState, chain: Chain, tree: Tree | undefined): string | undefined =>
  head === undefined ? tree && computeRoot(tree) : chain.last?.hash;

function findStateMismatch(
  state: LogState & { computed: string | undefined },
  { origin, entries, losses }: { origin: string; entries: number; losses: readonly Loss[] },
): Finding | undefined {
  const lossText = explainLoss(losses, state.length);
  const createFinding = (rule: Finding["rule"], message: string): Finding => ({
    line: null,
    entry: null,
    rule,
    message,
  });
  if (state.origin !== undefined && entries > 0 && state.origin !== escapeNoteLine(origin))
    return createFinding("origin", `${state.description} belongs to another log, ${state.origin}`);
  if (state.length > entries)
    return createFinding(
      "tail_truncation",
      `the log has ${entries} entries, fewer than ${state.description}${lossText}`,
    );
  if (state.computed === (state.head ?? state.root)) return undefined;
  return createFinding("full_rewrite", `the log does not continue ${state.description}${lossText}`);
}
