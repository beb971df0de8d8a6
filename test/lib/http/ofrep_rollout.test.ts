/** Flags of a change in a rollout: users in its share get the new value, all other users the previous one. */
import { expect, test } from "vitest";
import { evaluateFlags as handler } from "../../../handlers/ofrep/evaluate_flags.ts";
import { values } from "../../../handlers/product/values.ts";
import { evaluateFlag, evaluateFlags } from "../../../lib/http/ofrep.ts";
import { readContext } from "../../../lib/http/ofrep_schemas.ts";
import type { EvaluatedFlags } from "../../../lib/http/flag_choice.ts";
import { findBucket } from "../../../lib/rollout/bucket.ts";
import { core, type Core } from "../../support/core.ts";
import { rolloutClient, AGENTS, STAGES, totals } from "../../support/rollouts.ts";

const USERS = Array.from({ length: 60 }, (_, index) => `user-${index}`);
const KEY = "ui.banner";
const SHARES = [3000, 6000];
const stages = JSON.stringify({ ...STAGES, steps: SHARES.map((share, at) => ({ ...STAGES.steps[at], share })) });

type Flag = EvaluatedFlags["flags"][number];
const contextOf = (targetingKey: string, userId?: string) =>
  readContext({ targetingKey, ...(userId !== undefined && { userId }) });
const evaluateOne = async (api: Core, userId?: string, targetingKey = "t1"): Promise<Flag> =>
  JSON.parse((await evaluateFlag(api.deps, KEY, contextOf(targetingKey, userId))).text);
const evaluateInBulk = async (api: Core, userId?: string, targetingKey = "t1"): Promise<Flag | undefined> => {
  const { flags, text } = (await evaluateFlags(api.deps, contextOf(targetingKey, userId)))!;
  expect(JSON.parse(text)).toEqual({ flags });
  return flags.find(({ key }) => key === KEY);
};

/** Opens a service, applies a value for a tenant (unless it is undefined), and starts a rollout of "new" for tenant t1. */
async function startRollout(before: unknown, tenantOfValue = "t1") {
  const tenant_id = "t1";
  const api = await core({ intent: { principals: AGENTS } });
  const oldValue = { target: KEY, value: JSON.stringify(before), tenant_id: tenantOfValue };
  const old = before === undefined ? undefined : await api.bring("applied", oldValue);
  const change_id = await api.bring("applied", { target: KEY, tenant_id, value: '"new"', stages });
  const isTreated = (user: string, share = SHARES[0]!) => findBucket(change_id, user) < share;
  return { api, old, change_id, isTreated };
}

/** Feeds numbers with which the rollout leaves its step for the next one, or for the release to all users. */
async function advance(api: Core, change_id: string, step: number): Promise<void> {
  const { passHours, feedNow } = rolloutClient(api, change_id);
  passHours(24);
  await feedNow({ step, ...totals(100_000, SHARES[step]!) });
}

test("each user gets the value of their arm, with the arm as the variant, also in bulk", async () => {
  const { api, change_id, isTreated } = await startRollout("old");
  const metadata = { change_id, version: change_id, flagSetId: "t1", step: 0 };
  for (const user of USERS) {
    const arm = isTreated(user) ? { value: "new", variant: "treated" } : { value: "old", variant: "control" };
    expect(await evaluateOne(api, user)).toMatchObject({ key: KEY, reason: "SPLIT", ...arm, metadata });
    expect(await evaluateInBulk(api, user)).toEqual(await evaluateOne(api, user));
  }
  // A share of 3,000 of 10,000 has about 18 of 60 users.
  const count = USERS.filter((user) => isTreated(user)).length;
  expect(count > 5 && count < 35).toBe(true);
});

test("a user without the unit has the old value and its change, and no variant of an arm", async () => {
  const { api, old } = await startRollout(true);
  const expected = { value: true, variant: "on", reason: "TARGETING_MATCH", metadata: { change_id: old } };
  for (const user of [undefined, ""]) {
    expect(await evaluateOne(api, user)).toMatchObject(expected);
    expect(await evaluateInBulk(api, user)).toMatchObject(expected);
  }
  expect(await evaluateOne(api)).not.toHaveProperty("metadata.step");
});

test("a larger share adds users, and after the last step all users have the value", async () => {
  const { api, change_id, isTreated } = await startRollout("old");
  await advance(api, change_id, 0);
  for (const user of USERS) {
    const flag = await evaluateOne(api, user);
    expect(flag).toMatchObject({ value: isTreated(user, SHARES[1]) ? "new" : "old", metadata: { step: 1 } });
  }
  await advance(api, change_id, 1);
  for (const user of [...USERS.slice(0, 5), undefined])
    expect(await evaluateOne(api, user)).toMatchObject({ value: "new", reason: "TARGETING_MATCH", variant: "value" });
  await api.must("rollback", change_id);
  expect(await evaluateOne(api, USERS[0])).toMatchObject({ value: "old", variant: "value" });
});

test("in a rollout over a split value all other users keep the value of their share", async () => {
  const shares = [
    ["red", "#f00", 5000],
    ["blue", "#00f", 5000],
  ];
  const { api, isTreated } = await startRollout({ $split: { unit: "userId", shares } });
  for (const user of USERS) {
    // A split value divides users by the target, a rollout by the id of its change.
    const value = findBucket(KEY, user) < 5000 ? "#f00" : "#00f";
    expect(await evaluateOne(api, user)).toMatchObject(
      isTreated(user) ? { value: "new", variant: "treated" } : { value, variant: "control" },
    );
  }
  expect(await evaluateOne(api)).toMatchObject({ value: "#00f" });
});

test("for a tenant without a value all other users have the value for all tenants", async () => {
  const { api, change_id, old, isTreated } = await startRollout("for all", "*");
  for (const user of USERS.slice(0, 20)) {
    const arm = isTreated(user) ? { value: "new", variant: "treated" } : { value: "for all", variant: "control" };
    expect(await evaluateOne(api, user)).toMatchObject({ ...arm, metadata: { version: change_id, flagSetId: "t1" } });
    expect(await evaluateInBulk(api, user)).toEqual(await evaluateOne(api, user));
  }
  expect(await evaluateOne(api)).toMatchObject({ value: "for all", reason: "STATIC", metadata: { change_id: old } });
  expect(await evaluateOne(api, USERS[0], "t2")).toMatchObject({ value: "for all", metadata: { change_id: old } });
});

test("in a rollout without a previous value all other users get no flag", async () => {
  const { api, isTreated } = await startRollout(undefined);
  for (const user of USERS.slice(0, 20)) {
    const expected = isTreated(user) ? { value: "new" } : { errorCode: "FLAG_NOT_FOUND" };
    expect(await evaluateOne(api, user)).toMatchObject(expected);
    const inBulk = await evaluateInBulk(api, user);
    if (isTreated(user)) expect(inBulk).toMatchObject(expected);
    else expect(inBulk).toBeUndefined();
  }
});

test("the targeting key identifies the user if an attribute names the tenant", async () => {
  const { api, isTreated } = await startRollout("old");
  for (const user of USERS.slice(0, 20)) {
    const context = readContext({ targetingKey: user, company: "t1" }, "company");
    const { flag } = await evaluateFlag(api.deps, KEY, context);
    expect(flag).toMatchObject({ value: isTreated(user) ? "new" : "old" });
  }
});

test("an old value that was edited in the store is withheld; treated users still get the new one", async () => {
  const { api, old, isTreated } = await startRollout("old");
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", old!))!.value;
    tx.put("changes", old!, { ...record, change: { ...record.change, value: "forged" } });
  });
  for (const user of USERS.slice(0, 20))
    expect(await evaluateOne(api, user)).toMatchObject(isTreated(user) ? { value: "new" } : { errorCode: "GENERAL" });
});

test("the ETag of a bulk response depends on the context and changes with the step", async () => {
  const { api, change_id, isTreated } = await startRollout("old");
  const [treated, control] = [
    USERS.find((user) => isTreated(user))!,
    USERS.find((user) => !isTreated(user, SHARES[1]))!,
  ];
  const evaluateByHttp = async (userId: string, tag?: string) => {
    const request = new Request("http://localhost/ofrep/v1/evaluate/flags", {
      method: "POST",
      headers: { "content-type": "application/json", ...(tag && { "if-none-match": tag }) },
      body: JSON.stringify({ context: { targetingKey: "t1", userId } }),
    });
    const { status, headers } = await handler(api.deps)(request);
    return { status, tag: headers.get("etag")! };
  };
  const first = await evaluateByHttp(treated);
  const other = await evaluateByHttp(control);
  expect(first.tag).not.toBe(other.tag);
  expect([
    (await evaluateByHttp(treated, first.tag)).status,
    (await evaluateByHttp(control, first.tag)).status,
  ]).toEqual([304, 200]);
  await advance(api, change_id, 0);
  expect((await evaluateByHttp(treated, first.tag)).status).toBe(200);
});

test("GET values returns the share and the other users' value until all users have the new one", async () => {
  const { api, change_id, old } = await startRollout("old");
  const list = async () =>
    (await (await values(api.deps)(new Request("http://localhost/api/product/values"))).json()).values;
  const exposure = { step: 0, share: SHARES[0], unit: "userId", salt: change_id };
  expect(await list()).toMatchObject([
    { state: "governed", change_id, value: "new", exposure, before: { change_id: old, value: "old" } },
  ]);
  await advance(api, change_id, 0);
  await advance(api, change_id, 1);
  const [complete] = await list();
  expect([complete.value, complete.exposure, complete.before]).toEqual(["new", undefined, undefined]);
});
