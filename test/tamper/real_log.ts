/** A realistic log, made by requests alone: many event types, and text of every kind. */
import { readHead } from "../../lib/audit/chain.ts";
import { writeJsonLines } from "../../lib/audit/rows.ts";
import { joinChunks } from "../support/join_chunks.ts";
import type { Store } from "../../lib/store/store.ts";
import { DAY } from "../support/clock.ts";
import type { TestOptions } from "../support/deps.ts";
import { fails, scriptedAdapter } from "../support/scripted_adapter.ts";
import { type Core, core } from "../support/core.ts";

const NOTES = [
  "",
  "fine",
  "d'accord – “été”",
  "三番目の承認",
  'tab\tline\nquote " back \\ slash',
  "\u0001\u001f\u007f\u2028🙂",
  "x".repeat(900),
];
const INTENT = {
  kpis: { incident_rate: { baseline: 0.04, target: 0.01 } },
  policy: { required_approvers: { major: 2 } },
};

/** Makes a service whose log has exactly `length` entries; `afterRound` is called after each round, which writes a few. */
export async function realLog(
  length = 200,
  options: TestOptions = {},
  afterRound: (api: Core) => Promise<void> = async () => {},
): Promise<Core> {
  const adapter = scriptedAdapter();
  const api = await core({ intent: INTENT, adapter, ...options });
  const { clock, store } = api.deps;
  for (let round = 0; (await readHead(store))!.length < length; round++) {
    clock.advance(977);
    const note = NOTES[round % NOTES.length]!;
    const content = {
      tenant_id: `tenant-${round % 5}`,
      target: `ui.banner/${round % 11}`,
      rationale: note,
      kpi: "incident_rate",
    };
    const { change_id } = await api.propose({
      ...content,
      tier: round % 3 === 0 ? "major" : "standard",
      value: JSON.stringify({ round }),
    });
    if (round % 7 === 6) await api.post("deny", { change_id, approver: "ana", note });
    else if (round % 7 === 5) await api.post("withdraw", { change_id, proposer: "pat", note });
    else if (round % 7 === 4) await api.post("kpi", { incident_rate: 0.04 + round / 1000, csat: 4.5 });
    else await decideAndApply(api, change_id, round, note, adapter);
    if (round === 10) await acceptWrongClock(api);
    await afterRound(api);
    // Another round could write more entries than are left: the last ones are written one by one.
    if ((await readHead(store))!.length > length - 8)
      while ((await readHead(store))!.length < length) await api.post("kpi", { csat: 4 });
  }
  return api;
}

/** Writes an entry while the clock is ahead, corrects the clock, and accepts it. */
async function acceptWrongClock(api: Core): Promise<void> {
  const { clock } = api.deps;
  clock.shift(400 * DAY);
  await api.post("kpi", { csat: 4 });
  clock.shift(-400 * DAY);
  await api.post("audit/accept-clock", { actor: "ops", note: "it ran ahead" });
}

/**
 * Approves and applies a change. By its round, the first apply fails, the host loses the value, or the change is rolled back: the
 * second of two requests succeeds if the first fails, and is rejected otherwise.
 */
async function decideAndApply(
  api: Core,
  change_id: string,
  round: number,
  note: string,
  adapter: ReturnType<typeof scriptedAdapter>,
): Promise<void> {
  for (const approver of round % 3 === 0 ? ["ana", "Bo ✓"] : ["ana"])
    await api.post("approve", { change_id, approver, note });
  if (round % 4 === 1) adapter.on("apply", fails(`disk "full" at \\share\\${round}`), 1);
  await api.post("apply", { change_id });
  if (round % 4 === 1) await api.post("apply", { change_id });
  if (round % 4 === 2) {
    adapter.host.set(change_id, "absent");
    await api.cycle();
  }
  if (round % 8 === 3) adapter.on("rollback", fails("the host is away"), 1);
  if (round % 4 === 3) for (const _ of [1, 2]) await api.post("rollback", { change_id });
}

/** Returns the export of a store's log, as `format=jsonl` streams it. */
export const exportLog = async (store: Store): Promise<string> => joinChunks(writeJsonLines(store));
