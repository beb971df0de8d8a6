/** Drafts of a model pass the checks of a client's proposal, and are not stored again after people denied them. */
import { describe, expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { restartDeps, type TestOptions } from "../../support/deps.ts";
import { passkey } from "../../support/passkeys.ts";
import { form } from "../../support/requests.ts";
import { person } from "../../support/signed.ts";
import { DRAFT as BANNER, using, withModel } from "./with_model.ts";

const DRAFT = { ...BANNER, value: { shown: true, colour: "red" } };

/** Returns nested lists. */
const nestedLists = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);

test.each([
  ["of 900 KB", "x".repeat(900_000), "the request body is over 65536 bytes"],
  ["a hundred levels deep", nestedLists(100), "body is nested deeper than 64 levels"],
  ["deeper than can be written", nestedLists(20_000), "body is nested too deep to be read"],
  ["with text that is no Unicode", "\ud800", "body holds text that is not well-formed Unicode"],
])("a draft whose value is %s is rejected like a client's proposal", async (_, value, reason) => {
  // This model only opens the service: the one below replaces it, since its input need not be JSON that can be sent.
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

test("a draft of the maximum request size is stored completely", async () => {
  const value = "x".repeat(65_000);
  const service = await withModel(using({ name: "draft_change", input: { ...DRAFT, value } }));
  const [draft] = await service.sayAndConfirm("draft");
  expect((await service.change(draft!.change_id!)).value).toBe(value);
});

/** Other spellings of the tenant and the value of `DRAFT`. */
const SAME_CHANGE = [{ tenant_id: "t1 " }, { tenant_id: "ｔ1" }, { value: { colour: "red", shown: true } }];

test("a pending draft is not stored twice, so that one denial suffices", async () => {
  const service = await withModel(using({ name: "draft_change", input: DRAFT }));
  const change_id = (await service.sayAndConfirm("hi"))[0]!.change_id!;
  expect(await service.sayAndConfirm("hi")).toMatchObject([
    { stored: false, reason: `this very change waits for consent already: ${change_id}` },
  ]);
  await service.must("deny", change_id);
  expect(await service.sayAndConfirm("hi")).toMatchObject([{ stored: false }]);
  expect((await service.get("approvals")).body.pending).toEqual([]);
});

describe("a draft that people denied", () => {
  const openService = async (options: TestOptions = {}) => {
    let input: object = DRAFT;
    const service = await withModel(
      (received, round) => using({ name: "draft_change", input })(received, round),
      options,
    );
    let reason: string | null = null;
    /** Lets the model draft a change, by default the same as before; returns the change if the draft was stored. */
    const draftAgain = async (next: object = input): Promise<{ change_id: string }[]> => {
      input = next;
      const drafts = await service.sayAndConfirm("hi");
      reason = drafts[0]!.reason;
      return drafts.flatMap(({ change_id }) => (change_id === null ? [] : [{ change_id }]));
    };
    return { ...service, draftAgain, reason: () => reason };
  };

  test("is not stored again, even in other words, and the reply says who denied it and why", async () => {
    const service = await openService();
    const [first] = (await service.draftAgain()) as [{ change_id: string }];
    await service.post("deny", { change_id: first.change_id, approver: "ana", note: "too loud" });
    for (const words of [
      {},
      { summary: "A banner", rationale: "please" },
      { target: "UI.Banner" },
      { risk: "low" },
      ...SAME_CHANGE,
    ]) {
      expect(await service.draftAgain({ ...DRAFT, ...words })).toEqual([]);
      expect(service.reason()).toBe(
        `people turned down this very change: ${first.change_id} was denied by ana (“too loud”). You may propose it yourself`,
      );
    }
    expect((await service.get("approvals")).body.pending).toEqual([]);
  });

  test("is stored when it sets another value, target or kind", async () => {
    const service = await openService();
    const [first] = (await service.draftAgain()) as [{ change_id: string }];
    await service.must("deny", first.change_id);
    const otherFields = [{ value: { shown: true } }, { tenant_id: "t2" }, { target: "ui.other" }, { kind: "config" }];
    for (const fields of otherFields) expect(await service.draftAgain({ ...DRAFT, ...fields })).toHaveLength(1);
  });

  test("is stored once, even if the model drafts the same four changes thirty times", async () => {
    const service = await withModel(
      using(...[1, 2, 3, 4].map((n) => ({ name: "draft_change", input: { ...DRAFT, value: n } }))),
    );
    let storedCount = 0;
    for (let round = 0; round < 30; round++) {
      const stored = (await service.sayAndConfirm("hi")).flatMap(({ change_id }) => change_id ?? []);
      storedCount += stored.length;
      for (const change_id of stored) await service.must("deny", change_id);
    }
    expect(storedCount).toBe(4);
  });

  test("stays rejected after a restart, for ninety days", async () => {
    const service = await openService();
    const [first] = (await service.draftAgain()) as [{ change_id: string }];
    await service.must("deny", first.change_id);
    const deps = await restartDeps(service.deps, { llm: service.deps.llm });
    const postChat = async (fields: Record<string, string>) =>
      (await (await app(deps)(form("/api/chat", fields))).json()).drafts[0];
    const draftAfterRestart = async () => postChat({ confirm_draft: (await postChat({ message: "hi" })).draft_id });
    expect(await draftAfterRestart()).toMatchObject({ stored: false });
    service.deps.clock.advance(90 * 86_400_000);
    expect(await draftAfterRestart()).toMatchObject({ stored: false });
    service.deps.clock.advance(1);
    expect(await draftAfterRestart()).toMatchObject({ stored: true });
  });

  test("is treated like one that expired, and unlike one that was rolled back", async () => {
    const service = await openService({ intent: { policy: { consent_ttl_hours: 1 } } });
    const [first] = (await service.draftAgain()) as [{ change_id: string }];
    // An expiry is recorded when a second cycle confirms the time of the first.
    for (const hours of [2, 1]) {
      service.deps.clock.advance(hours * 3_600_000);
      await runCycle(service.deps);
    }
    expect((await service.change(first.change_id)).resolution).toBe("expired");
    expect(await service.draftAgain()).toEqual([]);
    expect(service.reason()).toContain(`${first.change_id} was expired`);
    const [other] = (await service.draftAgain({ ...DRAFT, value: 2 })) as [{ change_id: string }];
    for (const action of ["approve", "apply", "rollback"] as const) await service.must(action, other.change_id);
    expect(await service.draftAgain()).toHaveLength(1);
  });
});

describe("the confirmation of a draft", () => {
  /** Opens a service in which the model has drafted a change; `confirm` confirms the draft. */
  const openWithDraft = async (fields = {}, options: TestOptions = {}, headers = {}) => {
    const service = await withModel(using({ name: "draft_change", input: DRAFT }), options);
    const { body } = await service.say("draft", fields, headers);
    const confirm = (moreFields = {}, confirmHeaders = headers) =>
      service.post("/api/chat", { confirm_draft: body.drafts[0].draft_id, ...fields, ...moreFields }, confirmHeaders);
    return { ...service, draft: body.drafts[0], confirm };
  };

  test("stores the change once, however often it is sent", async () => {
    const service = await openWithDraft();
    expect(service.draft).toMatchObject({ stored: false, draft_id: expect.stringMatching(/^draft_\d{16}$/) });
    expect(await service.audit()).toEqual([]);
    const first = (await service.confirm()).body;
    const { change_id } = first.drafts[0];
    expect(first.reply).toMatchObject({ mode: "rules", citations: [{ kind: "change", id: change_id }] });
    expect(first.reply.text).toContain(`#/changes/${change_id}`);
    await service.must("deny", change_id);
    expect((await service.confirm()).body.drafts[0]).toMatchObject({ stored: true, change_id });
    expect((await service.get("runtime")).body.changes).toHaveLength(1);
  });

  test("stores one change for three concurrent confirmations", async () => {
    const service = await openWithDraft();
    const replies = await Promise.all([1, 2, 3].map(() => service.confirm()));
    expect(new Set(replies.map(({ body }) => body.drafts[0].change_id)).size).toBe(1);
    expect(replies.every(({ body }) => body.drafts[0].stored)).toBe(true);
  });

  test("for a person with keys stores the change only if the proxy names the person", async () => {
    const principals = { ana: person(passkey()) };
    const service = await openWithDraft({ author: "ana" }, { intent: { principals } });
    expect((await service.confirm()).body.drafts[0]).toMatchObject({
      stored: false,
      reason: expect.stringContaining("nothing but the request says that ana asked"),
    });
    const named = await openWithDraft({}, { intent: { principals }, identityHeader: "x-user" }, { "x-user": "ana" });
    expect((await named.confirm()).body.drafts[0]).toMatchObject({ stored: true });
  });

  test("leaves no copy of the content that an erasure would miss", async () => {
    const service = await openWithDraft();
    const { change_id } = (await service.confirm()).body.drafts[0];
    await service.must("deny", change_id);
    await service.post("erase", { change_id, actor: "ana", note: "a request" });
    // The cycles sweep messages and drafts for erased content.
    for (let hours = 0; hours < 60; hours++) {
      service.deps.clock.advance(3_600_000);
      await runCycle(service.deps);
    }
    for (const collection of ["chat", "chat_drafts"] as const)
      expect(JSON.stringify(await service.deps.store.list(collection, { limit: 100 }))).not.toContain(
        DRAFT.value.colour,
      );
    expect((await service.confirm()).status).toBe(404);
  });

  test("stores nothing without a product intent", async () => {
    const service = await openWithDraft();
    const deps = await restartDeps(service.deps, { intent: null });
    const { draft_id } = service.draft;
    const reply = await (await app(deps)(form("/api/chat", { confirm_draft: draft_id }))).json();
    expect(reply.drafts[0]).toMatchObject({ stored: false, reason: "the service has no product intent" });
  });

  test("is possible only for the person who requested the draft", async () => {
    const service = await openWithDraft({ author: "ana" });
    expect(await service.confirm({ author: "ben" })).toMatchObject({
      status: 403,
      body: { code: "identity_mismatch" },
    });
    expect(await service.audit()).toEqual([]);
    expect((await service.confirm({ author: "Ana" })).body.drafts[0].stored).toBe(true);
  });

  test("requires the same as a proposal: the token, and behind a proxy a person", async () => {
    const token = { "x-svc-admin-token": "hunter2hunter2" };
    const withToken = await openWithDraft({}, { adminToken: "hunter2hunter2" }, token);
    expect((await withToken.confirm({}, {})).status).toBe(401);
    const named = await openWithDraft({}, { identityHeader: "x-user" }, { "x-user": "ana" });
    expect(await named.confirm({}, {})).toMatchObject({ status: 403, body: { code: "person_required" } });
    expect((await named.confirm()).body.drafts[0].stored).toBe(true);
  });

  test("of an unknown draft is 404 and says what to do", async () => {
    const service = await openWithDraft();
    for (const confirm_draft of ["draft_0000000000000099", "draft_", "chg_1"])
      expect(await service.confirm({ confirm_draft })).toMatchObject({
        status: 404,
        body: { code: "not_found", error: `there is no draft ${confirm_draft}; it may be too old: ask for it again` },
      });
  });

  test("is possible for the last hundred drafts only", async () => {
    const service = await openWithDraft();
    for (let count = 0; count < 100; count++) await service.say("draft");
    expect((await service.confirm()).status).toBe(404);
  });
});
