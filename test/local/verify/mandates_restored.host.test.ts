/** Tests mandates in every state after a restore of an older copy: their bounds apply, and both verifiers accept the log. */
import { expect, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { migrate } from "../../../lib/changes/moving/migrate.ts";
import { fastestSha256 } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { MINUTE } from "../../support/clock.ts";
import { MANDATE_INTENT, openWithMandates, SIGNERS } from "../../support/mandates.ts";
import { rewindingStore } from "../../support/rewinding_store.ts";
import { judgeExports } from "./judge_export.ts";

/** The client of `openWithMandates`, or of a restarted service; a mandate is signed by ana and bo. */
type Acts = Pick<
  Awaited<ReturnType<typeof openWithMandates>>,
  "api" | "send" | "statement" | "mandate" | "decideOn" | "apply" | "propose"
>;

const TARGETS = ["a", "b", "c", "d"].map((name) => `price.${name}`);

async function acceptLoss({ api, send, statement }: Acts): Promise<void> {
  // A write finds out that the log went back, which freezes the service.
  await send("kpi", { csat: 4.2 });
  const { length, head } = (await readHead(api.deps.store))!;
  const sendSigned = async (path: string, decision: string, fields: object) => {
    const text = await statement(decision, "ana", fields);
    const { at } = JSON.parse(text) as { at: string };
    expect(await send(path, { actor: "ana", ...fields, proof: SIGNERS["ana"]!.sign(text), at })).toMatchObject({
      status: 200,
    });
  };
  await sendSigned("audit/accept-loss", "accept_loss", { note: "restored", length, head });
  await sendSigned("unfreeze", "unfreeze", { note: "restored" });
}

test("after a restore no mandate is in force; a resumed one continues its counts", async () => {
  const rewinding = rewindingStore();
  const api = await openWithMandates(
    { store: rewinding.store },
    Object.fromEntries(TARGETS.map((target) => [target, 100])),
  );
  const { clock } = api.api.deps;
  const activate = async (target: string, over: object = {}) => api.activate({ targets: [target], ...over });
  const sign = async (decision: string, id: string, ...names: string[]) => {
    for (const name of names) await api.decideOn(decision, id, name);
  };
  /** Applies a change and rolls it back, which suspends its mandate. */
  const applyAndRollBack = async (target: string) => {
    const { change_id } = (await api.propose({ target, value: 101 })).body;
    await api.apply(change_id);
    await api.send("rollback", { change_id, actor: "ana" });
  };
  // A draft with one of two signatures, and an active, a suspended and an ended mandate.
  const draft = (await api.draft({ targets: [TARGETS[3]] })).body.mandate_id;
  await sign("mandate", draft, "ana");
  const active = await activate(TARGETS[0]!, { max_per_day: 3, max_open: 2 });
  const before = (await api.propose({ target: TARGETS[0], value: 101 })).body;
  const suspended = await activate(TARGETS[1]!);
  await applyAndRollBack(TARGETS[1]!);
  await sign("mandate_resume", suspended, "ana");
  const ended = await activate(TARGETS[2]!);
  await sign("mandate_revoke", ended, "ana");
  const copy = await rewinding.copy();
  // Everything from here on is lost by the restore.
  const lost = (await api.propose({ target: TARGETS[0], value: 102 })).body;
  await sign("mandate", draft, "bo");
  await sign("mandate_revoke", active, "ana");
  await sign("mandate_resume", suspended, "bo");
  expect([lost.status, (await api.mandate(draft)).state]).toEqual(["approved", "active"]);
  await rewinding.goBack(copy);
  await acceptLoss(api);
  const readStates = async (by: Acts) => {
    const all = [];
    for (const id of [draft, active, suspended, ended]) all.push((await by.mandate(id)).state);
    return all;
  };
  expect(await readStates(api)).toEqual(["draft", "suspended", "suspended", "ended"]);
  for (const target of TARGETS)
    expect((await api.propose({ target, value: 103 })).body).toMatchObject({ status: "pending_consent" });
  expect(await api.apply(before.change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
  // Bo signs again, later than before. The signatures of ana from before the loss do not count, so his complete nothing.
  clock.advance(MINUTE);
  await sign("mandate", draft, "bo");
  await sign("mandate_resume", suspended, "bo");
  expect(await readStates(api)).toEqual(["draft", "suspended", "suspended", "ended"]);
  await sign("mandate_resume", active, "ana", "bo");
  expect(await api.mandate(active)).toMatchObject({
    state: "active",
    used: { today: 1, open: 1 },
    left: { today: 2, open: 1 },
  });
  const next = (await api.propose({ target: TARGETS[0], value: 104 })).body;
  expect(next).toMatchObject({ status: "approved" });
  const findExceededBound = async (by: Acts, value: number): Promise<string> =>
    (await by.propose({ target: TARGETS[0], value })).body.outside?.[0].bound;
  expect(await findExceededBound(api, 105)).toBe("max_open");
  // A consent from before the loss does not count again.
  expect(await api.apply(before.change_id)).toMatchObject({ status: 403 });
  expect(await api.apply(next.change_id)).toMatchObject({ status: 200 });
  const { text } = await api.api.get("audit?format=jsonl");
  const to = memoryStore();
  await migrate(
    { from: rewinding.store.bulk!, name: "here" },
    { to, name: "there", actor: "ana" },
    { clock, sha256: fastestSha256() },
  );
  const moved = await api.restart({ intent: MANDATE_INTENT, store: to });
  expect(await readStates(moved)).toEqual(["draft", "active", "suspended", "ended"]);
  expect((await moved.propose({ target: TARGETS[0], value: 104 })).body).toMatchObject({ status: "approved" });
  // Three changes of the day count: the one before the loss, and two after it.
  expect(await findExceededBound(moved, 103)).toBe("max_per_day");
  const after = (await moved.api.get("audit?format=jsonl")).text;
  for (const verdict of await judgeExports([text, after])) expect(verdict).toEqual({ typescript: [], python: [] });
});
