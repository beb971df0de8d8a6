/** A model's draft is held to what a client's proposal is, and is not filed again once people turned it down. */
import { describe, expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { runCycle } from "../../../lib/pulse/cycle.ts";
import { restarted, type TestOptions } from "../../support/deps.ts";
import { form } from "../../support/requests.ts";
import { DRAFT as BANNER, resultsIn, using, withModel } from "./with_model.ts";

const DRAFT = { ...BANNER, value: { shown: true, colour: "red" } };

/** Nested so deep. */
const deep = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);

test.each([
  ["of 900 KB", "x".repeat(900_000), "the request body is over 65536 bytes"],
  ["a hundred levels deep", deep(100), "body is nested deeper than 64 levels"],
  ["deeper than can be written", deep(20_000), "body is nested too deep to be read"],
  ["with text that is no Unicode", "\ud800", "body holds text that is not well-formed Unicode"],
])("a draft whose value is %s is refused as a client's is", async (_, value, reason) => {
  const service = await withModel(using({ name: "draft_change", input: "{}" }));
  const results: string[] = [];
  service.deps.llm = {
    model: "m1",
    complete: async ({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role === "tool") results.push(...last.results.map(({ text }) => text));
      const input = { ...DRAFT, value };
      return last.role === "tool"
        ? { text: "done", toolCalls: [] }
        : { text: "", toolCalls: [{ id: "1", name: "draft_change", input }] };
    },
  };
  const { body } = await service.say("draft");
  expect(results).toEqual([`refused: ${reason}`]);
  expect(body.drafts).toEqual([]);
  expect(await service.audit()).toEqual([]);
});

test("a draft of as many bytes as a client may send is filed whole", async () => {
  const value = "x".repeat(65_000);
  const service = await withModel(using({ name: "draft_change", input: { ...DRAFT, value } }));
  const [{ change_id }] = (await service.say("draft")).body.drafts;
  expect((await service.change(change_id)).value).toBe(value);
});

/** The same tenant to whoever reads it, and the same value. */
const SAME = [{ tenant_id: "t1 " }, { tenant_id: "ｔ1" }, { value: { colour: "red", shown: true } }];

test("a draft that waits already is not filed beside itself, so that whoever denies it denies all there is of it", async () => {
  const service = await withModel(using({ name: "draft_change", input: DRAFT }));
  const [{ change_id }] = (await service.say("hi")).body.drafts;
  expect((await service.say("hi")).body.drafts).toEqual([]);
  expect(JSON.parse(resultsIn(service.received)[0]!).data).toBe(
    `not stored: this very change waits for consent already: ${change_id}`,
  );
  await service.must("deny", change_id);
  expect((await service.say("hi")).body.drafts).toEqual([]);
  expect((await service.get("approvals")).body.pending).toEqual([]);
});

describe("a draft that people turned down", () => {
  const denying = async (over: object = {}, options: TestOptions = {}) => {
    let input: object = { ...DRAFT, ...over };
    const service = await withModel(
      (received, round) => using({ name: "draft_change", input })(received, round),
      options,
    );
    const say = async (next: object = input) => {
      input = next;
      const { drafts } = (await service.say("hi")).body;
      return drafts.map(({ change_id }: { change_id: string }) => ({ change_id })) as { change_id: string }[];
    };
    const told = () => JSON.parse(resultsIn(service.received)[0]!).data;
    return { ...service, sayAgain: say, told };
  };

  test("is not filed again, in these words or others, and the model is told by whom and why", async () => {
    const service = await denying();
    const [first] = (await service.sayAgain()) as [{ change_id: string }];
    await service.post("deny", { change_id: first.change_id, approver: "ana", note: "too loud" });
    for (const words of [
      {},
      { summary: "A banner", rationale: "please" },
      { target: "UI.Banner" },
      { risk: "low" },
      ...SAME,
    ]) {
      expect(await service.sayAgain({ ...DRAFT, ...words })).toEqual([]);
      expect(service.told()).toMatchObject({
        not_stored: expect.stringContaining("turned down"),
        turned_down: { ...first, resolution: "denied", approver: "ana", approval_note: "too loud" },
      });
    }
    expect((await service.get("approvals")).body.pending).toEqual([]);
  });

  test("is filed when it does something else", async () => {
    const service = await denying();
    const [first] = (await service.sayAgain()) as [{ change_id: string }];
    await service.must("deny", first.change_id);
    const others = [{ value: { shown: true } }, { tenant_id: "t2" }, { target: "ui.other" }, { kind: "config" }];
    for (const over of others) expect(await service.sayAgain({ ...DRAFT, ...over })).toHaveLength(1);
  });

  test('thirty times "hi" file no more drafts than there are changes to draft', async () => {
    const service = await withModel(
      using(...[1, 2, 3, 4].map((n) => ({ name: "draft_change", input: { ...DRAFT, value: n } }))),
    );
    let filed = 0;
    for (let at = 0; at < 30; at++) {
      const { drafts } = (await service.say("hi")).body;
      filed += drafts.length;
      for (const { change_id } of drafts) await service.must("deny", change_id);
    }
    expect(filed).toBe(4);
  });

  test("stays turned down after a restart, for ninety days", async () => {
    const service = await denying();
    const [first] = (await service.sayAgain()) as [{ change_id: string }];
    await service.must("deny", first.change_id);
    const deps = await restarted(service.deps, { llm: service.deps.llm });
    const again = async () => (await app(deps)(form("/api/chat", { message: "hi" }))).json();
    expect((await again()).drafts).toEqual([]);
    service.deps.clock.advance(90 * 86_400_000);
    expect((await again()).drafts).toEqual([]);
    service.deps.clock.advance(1);
    expect((await again()).drafts).toMatchObject([{ stored: true }]);
  });

  test("counts as such also when nobody decided on it in time, and not when it was rolled back", async () => {
    const service = await denying({}, { intent: { policy: { consent_ttl_hours: 1 } } });
    const [first] = (await service.sayAgain()) as [{ change_id: string }];
    for (const hours of [2, 1]) {
      service.deps.clock.advance(hours * 3_600_000);
      await runCycle(service.deps);
    }
    expect((await service.change(first.change_id)).resolution).toBe("expired");
    expect(await service.sayAgain()).toEqual([]);
    expect(service.told().turned_down).toMatchObject({ ...first, resolution: "expired" });
    const [other] = (await service.sayAgain({ ...DRAFT, value: 2 })) as [{ change_id: string }];
    for (const action of ["approve", "apply", "rollback"] as const) await service.must(action, other.change_id);
    expect(await service.sayAgain()).toHaveLength(1);
  });
});
