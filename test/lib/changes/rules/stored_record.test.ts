/** The stored form of change records, which omits default values. */
import { expect, test } from "vitest";
import { readRecord } from "../../../../lib/changes/records.ts";
import {
  fromStoredChange,
  parseRecord,
  type StoredChange,
  toStoredChange,
} from "../../../../lib/changes/rules/stored_record.ts";
import { core } from "../../../support/core.ts";

test("a stored proposal omits its id and members with default values", async () => {
  const { deps, propose } = await core();
  const { change_id: id } = await propose({ target: "ui.banner", kpi: "csat", expected_delta_k: 0 });
  const { change } = (await deps.store.get("changes", id))!.value;
  // An expectation of 0 is no default, which is null. `unstated` names the fields that the proposal left to a default.
  expect(Object.keys(change)).toEqual([
    ...[
      "tenant_id",
      "kind",
      "target",
      "summary",
      "rationale",
      "expected_delta_k",
      "tier",
      "risk",
      "kpi",
      "proposer_kind",
      "unstated",
      "sets_nothing",
    ],
    ...["status", "created_at", "digest"],
  ]);
});

test("an irreversible change, a quorum of two and an expectation of 0 are read as stored", async () => {
  const { deps, propose } = await core({ intent: { policy: { required_approvers: { major: 2 } } } });
  // A change that cannot be undone is major.
  const { change_id: id } = await propose({ reversible: false, expected_delta_k: 0 });
  const stored = (await deps.store.get("changes", id))! as { id: string; value: StoredChange };
  expect(stored.value.change).toMatchObject({ reversible: false, required_approvers: 2, expected_delta_k: 0 });
  expect(fromStoredChange(stored).change).toMatchObject({
    reversible: false,
    required_approvers: 2,
    expected_delta_k: 0,
  });
});

test.each(["pending_consent", "approved", "applied", "rolled_back", "denied"] as const)(
  "a stored change that is %s is read unchanged",
  async (status) => {
    const { deps, bring } = await core();
    const id = await bring(status);
    const [row] = await deps.store.texts("changes", [id]);
    const record = (await readRecord(deps.store, id))!;
    expect(parseRecord(row!)).toEqual(record);
    expect(toStoredChange(record)).toEqual(JSON.parse(row!.text));
    expect(fromStoredChange({ id, value: toStoredChange(record) })).toEqual(record);
  },
);

test("a record that names another change than its key is read unchanged", async () => {
  const { deps, propose } = await core();
  const { change_id } = await propose();
  const { value } = (await deps.store.get("changes", change_id))!;
  expect(fromStoredChange({ id: "chg_other", value: value as StoredChange }).change.change_id).toBe("chg_other");
  const withId = { ...value, change: { ...value.change, change_id } } as StoredChange;
  expect(fromStoredChange({ id: "chg_other", value: withId }).change.change_id).toBe(change_id);
});

test.each([null, 5, "", [], {}, { change: null }, { change: 5 }])(
  "a value that is no record is returned unchanged: %j",
  (value) => {
    expect(fromStoredChange({ id: "chg_1", value: value as never })).toBe(value);
  },
);
