/** An answer that was kept under an `Idempotency-Key` is given again as long as the log tells what it tells. */
import type { AuditEntry } from "../audit/entry.ts";
import type { Answer } from "../http/answer.ts";
import { AppError } from "../kit/errors.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Json } from "../store/json.ts";
import type { Evidence } from "./evidence.ts";
import { foldOf } from "./history.ts";
import type { Change } from "./rules/change.ts";
import { digestOf } from "./rules/content.ts";
import { detailIn } from "./rules/event.ts";
import { differences } from "./rules/record.ts";

interface Told {
  dry_run?: boolean;
  /** Id of the entry. */
  audit_entry?: number | null;
  change?: Change;
}

/** The answer as it is kept: its entry, which the log keeps, only by its id. */
export function byNumber(answer: Answer, appended: readonly Json<AuditEntry>[]): Answer {
  for (const { text, value } of appended) {
    const end = `"audit_entry":${text}}`;
    if (!answer.text.endsWith(end)) continue;
    return { ...answer, text: `${answer.text.slice(0, -end.length)}"audit_entry":${value.id}}` };
  }
  return answer;
}

/** The answer as it was given; 409 `evidence_mismatch` where it is not what the log tells. */
export async function toldAnswer(answer: Answer, log: { evidence: Evidence; sha256: Sha256 }): Promise<Answer> {
  const body = parsed(answer.text);
  // A rehearsal tells of nothing that happened.
  if (body.dry_run === true && body.audit_entry === null) return answer;
  const entry = await log.evidence.entry(body.audit_entry);
  if (entry && (await isTold(body, entry, log)))
    return { ...answer, text: JSON.stringify({ ...body, audit_entry: entry }) };
  throw new AppError(
    "evidence_mismatch",
    "what is kept under this Idempotency-Key is not what the audit log tells; look at the change, and ask for what is left under a new key",
    { fields: ["idempotency"] },
  );
}

async function isTold(
  body: Told,
  entry: AuditEntry,
  { evidence, sha256 }: { evidence: Evidence; sha256: Sha256 },
): Promise<boolean> {
  const { audit_entry: _, change = body as Change, ...members } = body as Told & Record<string, unknown>;
  const { change_id } = entry;
  if ((change?.change_id ?? "") !== change_id) return false;
  const told = new Map<string, unknown>(Object.entries(detailIn(entry.detail)));
  if (change_id !== "") {
    const entries = await evidence.about(change_id, 1);
    const state = foldOf(entries.filter(({ id }) => id <= entry.id));
    // What an answer told of a content that was erased since is what the erasure left of it.
    const left = entries.map(({ detail }) => detailIn(detail).remaining_digest).find((digest) => digest !== undefined);
    const differs = (field: string) => field !== "content" || digestOf(change, sha256) !== left;
    if (!state || differences(state, { ...state, change }, sha256).some(differs)) return false;
    for (const [name, member] of Object.entries(state.change)) told.set(name, member);
  }
  return Object.entries(members).every(([name, member]) => !told.has(name) || same(told.get(name), member));
}

const parsed = (text: string): Told => {
  try {
    return (JSON.parse(text) ?? {}) as Told;
  } catch {
    return {};
  }
};

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
