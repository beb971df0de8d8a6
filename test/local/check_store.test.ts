/** Tests `--check-intent` with a store: it lists pending automatic changes that would lack a consent under the new intent. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkIntent } from "../../local/intent_file.ts";
import { openStore } from "../../local/open_store.ts";
import { temporaryFolder } from "../e2e/server.ts";
import { HOUR, START } from "../support/clock.ts";
import { core } from "../support/core.ts";
import { manifest, type Manifest } from "../support/intents.ts";
import { passkey } from "../support/passkeys.ts";
import { AGENTS, openRollout } from "../support/rollouts.ts";
import { decide, person } from "../support/signed.ts";
import { silentLog } from "../support/silent_log.ts";

const POLICY = { apply_when: ["manual", "approved", "scheduled"] };
const ANA = passkey();
const principals = { ana: person(ANA), bo: person(passkey()) };
const apply_when = new Date(Date.parse(START) + HOUR).toISOString();

/** Opens a store, and returns a function that checks an intent and returns the lines that name a change. */
async function openStoreWithCheck() {
  const folder = await temporaryFolder();
  const state = join(folder, "state.json");
  const store = await openStore(state, silentLog);
  const check = async (intent: Manifest): Promise<string[]> => {
    const path = join(folder, "next.json");
    await writeFile(path, JSON.stringify(manifest({ update_epoch: 2, ...intent })));
    const { text, passed } = await checkIntent(path, { state });
    expect(passed).toBe(true);
    return text.split("\n").filter((line) => line.startsWith("! chg_"));
  };
  return { folder, store, check };
}

/** Adds a scheduled change that ana signed, and one that waits for consent. */
async function openStoreWithChanges() {
  const { folder, store, check } = await openStoreWithCheck();
  const api = await core({ store, intent: { policy: POLICY, principals } });
  const { change_id } = await api.propose({ value: "1", apply_when });
  await decide(api, ANA, "approve", { approver: "ana", change_id });
  await api.propose({ target: "ui.b", apply_when: "approved" });
  return { api, change_id, folder, check: (intent: Manifest) => check({ principals, ...intent }) };
}

test("names a scheduled change whose consent would not count, while a service is running", async () => {
  const { api, change_id, check } = await openStoreWithChanges();
  expect(await check({ policy: POLICY })).toEqual([]);
  expect(await check({ policy: { ...POLICY, approvers: ["bo"] } })).toEqual([
    expect.stringMatching(
      `^! ${change_id} lacks a consent under this intent: consents are missing under today's intent`,
    ),
  ]);
  // The consent is signed by a key that the new intent does not list for ana.
  expect(await check({ policy: POLICY, principals: { ana: person(passkey()) } })).toHaveLength(1);
  expect((await api.change(change_id)).status).toBe("approved");
  await api.deps.store.close();
});

test("names nothing after the consent is revoked, and rejects a path without a store", async () => {
  const { api, change_id, check, folder } = await openStoreWithChanges();
  await decide(api, ANA, "revoke", { approver: "ana", change_id });
  expect(await check({ policy: { ...POLICY, approvers: ["bo"] } })).toEqual([]);
  const checkWithoutStore = checkIntent(join(folder, "next.json"), { state: join(folder, "none.json") });
  await expect(checkWithoutStore).rejects.toThrow(/^--state: there is no store at .*none\.json/);
  await api.deps.store.close();
});

test("names a running rollout too", async () => {
  const { store, check } = await openStoreWithCheck();
  const { api, change_id } = await openRollout({ store });
  expect(await check({ principals: AGENTS })).toEqual([]);
  expect(await check({ principals: AGENTS, policy: { required_approvers: { standard: 2 } } })).toEqual([
    expect.stringContaining(`${change_id} lacks a consent under this intent: `),
  ]);
  await api.deps.store.close();
});
