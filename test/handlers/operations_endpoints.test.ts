/** Tests the fields, errors and declared responses of the endpoints for tasks, actions, the trend and capabilities. */
import { describe, expect, test } from "vitest";
import { capabilities } from "../../handlers/capabilities.ts";
import { state } from "../../handlers/state.ts";
import { outputSchema } from "../../lib/http/endpoint.ts";
import type { Fields } from "../support/requests.ts";
import { filesInMemory, openOperations, OPERATIONS_ENDPOINTS } from "../lib/operations/operations_service.ts";

const DECLARED = [...OPERATIONS_ENDPOINTS, state, capabilities];

test("each response matches its declared output, and has no other fields", async () => {
  const files = filesInMemory();
  const service = await openOperations({
    evolved: { ...files, list: async () => [{ name: "a.md", bytes: 1, sha256: "00", modified_at: "", kind: "other" }] },
    intent: { kpis: { csat: { baseline: 4, target: 5 }, nrr_quarterly: { baseline: 1, target: 2 } } },
  });
  await service.post("kpi", { csat: 4.2, deal_win_rate: 0 });
  await service.bring("rolled_back", { kpi: "csat" });
  await service.propose();
  service.passHours(25);
  await service.post("/api/action/run-now", {});
  const { body: task } = await service.post("/api/tasks", { title: "t", priority: 2.5 });
  await service.cycle();
  const replies = {
    "/api/task/feedback": await service.post("/api/task/feedback", { task_id: task.task_id, rating: 5 }),
    "/api/action/run-now": await service.post("/api/action/run-now", { action: "check_drift" }),
  };
  const checkedPaths: string[] = [];
  for (const { method, path, success, ...declared } of DECLARED) {
    // Their responses are no JSON.
    if (path === "/api/metrics" || path === "/api/events" || path === "/api/evolved/:file") continue;
    const prepared = replies[path as keyof typeof replies];
    const reply =
      prepared ?? (method === "POST" ? await service.post(path, { title: "another" }) : await service.get(path));
    expect(reply.status, path).toBe(success ?? 200);
    expect(outputSchema(declared).parse(reply.body), path).toEqual(reply.body);
    checkedPaths.push(path);
  }
  expect(checkedPaths).toHaveLength(DECLARED.length - 3);
});

describe("fields", () => {
  test.each<[string, string, Fields, string]>([
    ["no title", "/api/tasks", {}, "title is required"],
    ["a blank title", "/api/tasks", { title: "  " }, "title must not be empty"],
    ["a title of 201 characters", "/api/tasks", { title: "x".repeat(201) }, "title must have at most 200"],
    ["a title of two lines", "/api/tasks", { title: "a\nb" }, "title must not contain control"],
    [
      "a long description",
      "/api/tasks",
      { title: "t", description: "x".repeat(8001) },
      "description must have at most 8000",
    ],
    [
      "an unknown priority",
      "/api/tasks",
      { title: "t", priority: "asap" },
      "priority must be low, normal, high, urgent",
    ],
    ["a priority that is no JSON number", "/api/tasks", { title: "t", priority: "0x10" }, "priority must be"],
    ["an infinite priority", "/api/tasks", { title: "t", priority: "1e999" }, "priority must be"],
    ["a priority out of range", "/api/tasks", { title: "t", priority: "1000001" }, "priority must be"],
    ["no task", "/api/task/feedback", { rating: 3 }, "task_id is required"],
    ["no rating", "/api/task/feedback", { task_id: "tsk_1" }, "rating is required"],
    ["rating 0", "/api/task/feedback", { task_id: "tsk_1", rating: 0 }, "rating must be a whole number from 1 to 5"],
    ["rating 6", "/api/task/feedback", { task_id: "tsk_1", rating: 6 }, "rating must be a whole number from 1 to 5"],
    [
      "rating 2.5",
      "/api/task/feedback",
      { task_id: "tsk_1", rating: 2.5 },
      "rating must be a whole number from 1 to 5",
    ],
    [
      "a rater with the name of a rule",
      "/api/task/feedback",
      { task_id: "t", rating: 3, rater: "policy:x" },
      "rater must not begin",
    ],
  ])("%s is rejected", async (_, path, fields, message) => {
    const { status, body } = await (await openOperations()).post(path, fields);
    expect([status, body.code]).toEqual([400, "invalid_field"]);
    expect(body.error).toContain(message);
  });

  test.each([
    ["/api/log?limit=0", "limit must be a whole number from 1 to 500"],
    ["/api/log?limit=501", "limit"],
    ["/api/log?before=-1", "before"],
    ["/api/tasks?status=open", "status must be one of running, queued"],
    ["/api/tasks?limit=x", "limit"],
    ["/api/l1l5_trend?days=0", "days must be a whole number from 1 to 400"],
    ["/api/l1l5_trend?days=401", "days"],
    ["/api/action/list?limit=501", "limit"],
  ])("%s is rejected", async (path, message) => {
    const { status, body } = await (await openOperations()).get(path);
    expect([status, body.code]).toEqual([400, "invalid_field"]);
    expect(body.error).toContain(message);
  });

  test("an empty field of a form counts as absent", async () => {
    const service = await openOperations();
    const fields = { title: "t", description: "", required_dimension: "", priority: "" };
    const { status, body } = await service.post("/api/tasks", fields);
    expect(status).toBe(201);
    expect(body).toMatchObject({ required_dimension: null, priority: "normal", description: "" });
  });

  test("JSON is accepted too, with numbers as numbers", async () => {
    const service = await openOperations();
    const { status, body } = await service.json("/api/tasks", { title: "t", priority: 7, required_dimension: "need" });
    expect(status).toBe(201);
    expect(body).toMatchObject({ priority: 7, required_dimension: "N", status: "queued" });
  });

  test("a page after a task that does not exist is 404", async () => {
    const { status, body } = await (await openOperations()).get("/api/tasks?after=tsk_none");
    expect([status, body.code]).toEqual([404, "task_not_found"]);
  });
});

describe("authorization of writes", () => {
  const writes: [string, Fields][] = [
    ["/api/tasks", { title: "t" }],
    ["/api/task/feedback", { task_id: "tsk_none", rating: 3 }],
  ];
  test.each(writes)("%s needs the admin token only if everything is protected", async (path, fields) => {
    const adminToken = "sesame-open-now";
    const open = await openOperations({ adminToken });
    expect((await open.post(path, fields)).status).not.toBe(401);
    const closed = await openOperations({ adminToken, protectAll: true });
    expect((await closed.post(path, fields)).status).toBe(401);
    expect((await closed.post(path, fields, { "x-svc-admin-token": adminToken })).status).not.toBe(401);
    expect((await closed.get("/api/tasks")).status).toBe(200);
  });

  test.each([...writes, ["/api/action/run-now", {}] as const])(
    "a page of another site may not write to %s",
    async (path, fields) => {
      const service = await openOperations();
      const reply = await service.post(path, fields, { "sec-fetch-site": "cross-site" });
      expect([reply.status, reply.body.code]).toEqual([403, "cross_site"]);
    },
  );
});

test("the trend has a point for each requested day, zeros included", async () => {
  const service = await openOperations();
  await service.bring("denied");
  const { points, totals, bucket, levels } = (await service.get("/api/l1l5_trend?days=3")).body;
  expect(points).toEqual([
    { date: "2025-12-31", L1: 0, L2: 0, L3: 0, L4: 0, L5: 0, unattributed: 0 },
    { date: "2026-01-01", L1: 0, L2: 0, L3: 0, L4: 0, L5: 0, unattributed: 0 },
    { date: "2026-01-02", L1: 1, L2: 0, L3: 0, L4: 0, L5: 0, unattributed: 0 },
  ]);
  expect(totals.L1).toBe(1);
  expect(bucket).toBe("day");
  expect(levels.map(({ level }: { level: string }) => level)).toEqual(["L1", "L2", "L3", "L4", "L5"]);
  expect((await service.get("/api/l1l5_trend")).body.points).toHaveLength(30);
});

describe("phases", () => {
  const readPhase = async ({ get }: Awaited<ReturnType<typeof openOperations>>, id: string) =>
    (await get("/api/capabilities")).body.phases.find((phase: { id: string }) => phase.id === id);

  test("a new service without an intent is in the first phase", async () => {
    const { body } = await (await openOperations({ intent: null })).get("/api/capabilities");
    expect(body.current_phase).toBe("observe");
    expect(body.phases.map(({ id, progress }: { id: string; progress: number }) => [id, progress])).toEqual([
      ["observe", 0],
      ["propose", 0],
      ["apply", 0],
      ["recover", 0],
      ["learn", 0],
    ]);
  });

  test("recorded work meets all items but one of the phases; drift makes another unmet for 30 days", async () => {
    const service = await openOperations({
      intent: {
        kpis: { csat: { baseline: 4, target: 5 } },
        policy: { guardrails: [{ kpi: "csat", max_regression: 1, action: "alert" }] },
      },
    });
    await service.post("kpi", { csat: 4.2 });
    expect(await readPhase(service, "observe")).toMatchObject({ progress: 1, met: 4, total: 4 });
    expect((await service.get("/api/capabilities")).body.current_phase).toBe("propose");
    const ids: string[] = [];
    for (let made = 0; made < 10; made++)
      ids.push(
        await service.bring("applied", {
          target: `ui.part_${made}`,
          kpi: "csat",
          expected_delta_k: 0.1,
          rationale: "r",
        }),
      );
    expect(await readPhase(service, "propose")).toMatchObject({ progress: 1 });
    expect(await readPhase(service, "apply")).toMatchObject({ progress: 1 });
    expect((await service.get("/api/capabilities")).body.current_phase).toBe("recover");
    await service.must("rollback", ids[0]!);
    expect(await readPhase(service, "recover")).toMatchObject({ progress: 1 });
    service.passHours(24);
    await service.post("kpi", { csat: 4.5 });
    service.passHours(7 * 24);
    await service.cycle();
    service.passHours(1);
    const { task_id } = (await service.post("/api/tasks", { title: "t" })).body;
    await service.cycle();
    await service.post("/api/task/feedback", { task_id, rating: 5 });
    const learn = await readPhase(service, "learn");
    // The second item needs nine tenths of the record keeping; these changes have no notes.
    expect(learn.items.map(({ met }: { met: boolean }) => met)).toEqual([true, false, true, true]);
    service.host.host.delete(ids[9]!);
    await service.post("/api/action/run-now", { action: "check_drift" });
    expect(await readPhase(service, "propose")).toMatchObject({ met: 2, total: 3 });
    service.passHours(29 * 24);
    expect(await readPhase(service, "propose")).toMatchObject({ met: 2 });
    service.passHours(24);
    expect(await readPhase(service, "propose")).toMatchObject({ met: 3 });
  });
});

test("a capability reported by the host replaces the service's own of the same id", async () => {
  const reported = { id: "admin_token", group: "host", status: "available", reason: null, enable_with: null } as const;
  const { body } = await (await openOperations({ capabilities: [reported] })).get("/api/capabilities");
  const ids = body.capabilities.map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(body.capabilities).toContainEqual(reported);
});
