/** The endpoints outside the product runtime: state, metrics, chat, memory, tasks, actions, trend, peers, health, OpenAPI. */
import { expect, test } from "vitest";
import type { Open } from "../http_contract.ts";

export function serviceRules(open: Open): void {
  test("the state has its values and the data that they are computed from", async () => {
    const api = await open();
    await api.bring("applied");
    const { status, body } = await api.get("/api/state");
    expect(status).toBe(200);
    expect(body.dimensions.R).toMatchObject({ n: 1, failed: 0 });
    expect(Object.keys(body.dimensions)).toEqual(["E", "M", "R", "N"]);
    expect(body).toMatchObject({ tick: expect.any(Number), goals: expect.any(Array), as_of: expect.any(String) });
  });

  test("a cycle raises the tick and is in the list of actions; the growth log is readable", async () => {
    const api = await open();
    const { tick } = (await api.get("/api/state")).body;
    expect((await api.post("/api/action/run-now")).body).toMatchObject({ action: "cycle", status: "completed" });
    expect((await api.get("/api/state")).body.tick).toBe(tick + 1);
    expect((await api.get("/api/action/list")).body.actions[0]).toMatchObject({ action: "cycle" });
    expect((await api.get("/api/log")).body.entries).toEqual(expect.any(Array));
  });

  test("an action runs by name; an unknown name is rejected with the valid ones", async () => {
    const api = await open();
    await api.bring("approved");
    for (const action of ["verify_audit", "evaluate_outcomes"])
      expect((await api.post("/api/action/run-now", { action })).body).toMatchObject({ action, status: "completed" });
    const { status, body } = await api.post("/api/action/run-now", { action: "sleep" });
    expect([status, body.error]).toEqual([400, expect.stringContaining("verify_audit")]);
  });

  test("every disabled capability has a reason", async () => {
    const { capabilities, phases } = (await (await open()).get("/api/capabilities")).body;
    expect(phases.length).toBeGreaterThan(3);
    for (const { id, status, reason } of capabilities)
      if (status !== "available") expect([id, reason]).toEqual([id, expect.stringMatching(/\w/)]);
    expect(capabilities).toContainEqual(expect.objectContaining({ id: "product_runtime", status: "available" }));
  });

  test("metrics are Prometheus text, computed from records", async () => {
    const api = await open();
    await api.bring("pending_consent");
    const { headers, text } = await api.get("/api/metrics");
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^countersign_changes\{status="pending_consent"\} 1$/m);
  });

  test("chat answers from records, cites them, and is remembered", async () => {
    const api = await open();
    const change_id = await api.bring("pending_consent", { rationale: "Customers ask for a heliotrope banner" });
    const { status, body } = await api.post("/api/chat", { message: "what is pending?", author: "ana" });
    expect([status, body.reply.mode]).toEqual([200, "rules"]);
    expect(body.reply.citations).toContainEqual({ kind: "change", id: change_id });
    const history = await api.get("/api/chat/history?author=ana");
    expect(history.headers.get("content-type")).toMatch(/^text\/html/);
    expect(history.text).toContain("what is pending?");
    await api.act("approve", change_id);
    const found = await api.get("/api/memory/search?q=banner");
    expect(found.body.results).toContainEqual(expect.objectContaining({ ref: change_id }));
  });

  test("a task is queued, completed and rated", async () => {
    const api = await open();
    const task = await api.post("/api/tasks", { title: "What failed?", required_dimension: "R" });
    expect([task.status, task.body.status]).toEqual([201, "queued"]);
    const { task_id } = task.body;
    expect((await api.post("/api/task/feedback", { task_id, rating: 5 })).body.code).toBe("task_not_completed");
    await api.post("/api/action/run-now", { action: "run_next_task" });
    const [completedTask] = (await api.get("/api/tasks")).body.tasks;
    expect(completedTask).toMatchObject({
      task_id,
      status: "completed",
      mode: "rules",
      result: expect.stringMatching(/\w/),
    });
    expect((await api.post("/api/task/feedback", { task_id, rating: 4 })).body).toMatchObject({ mean_rating: 4 });
  });

  test("the trend counts changes by their level of autonomy", async () => {
    const api = await open();
    // L1: a person proposed and a person decided. L5: the host product changed without both.
    await api.bring("approved");
    expect((await api.get("/api/l1l5_trend?days=2")).body.totals).toMatchObject({ L1: 1, L5: 0 });
  });

  test("missing files get 404", async () => {
    const api = await open();
    expect((await api.get("/api/evolved")).body).toEqual({ files: [] });
    for (const name of ["nothing.md", "..%2fpackage.json", ".hidden"])
      expect((await api.get(`/api/evolved/${name}`)).status).toBe(404);
  });

  test("without peers, the list of peers and the results of a query are empty", async () => {
    const api = await open();
    expect((await api.get("/api/peers")).body).toMatchObject({ peers: [] });
    expect((await api.post("/api/peer/query?path=/api/state&method=GET")).body).toEqual({ results: [] });
    expect((await api.post("/api/peer/query?path=/api/product/audit&method=GET")).status).toBe(400);
  });

  test("the service is live and ready, and has an OpenAPI description", async () => {
    const api = await open();
    for (const path of ["/livez", "/readyz"]) expect((await api.get(path)).status).toBe(200);
    expect((await api.get("/openapi.json")).body).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
    expect((await api.get("/docs")).headers.get("content-type")).toMatch(/^text\/html/);
  });

  test("with a token configured, actions and queries to peers need it, chat and tasks do not", async () => {
    const api = await open({ adminToken: "let me in" });
    expect((await api.post("/api/action/run-now")).status).toBe(401);
    expect((await api.post("/api/peer/query?path=/api/state&method=GET")).status).toBe(401);
    expect((await api.post("/api/chat", { message: "status" })).status).toBe(200);
    expect((await api.post("/api/tasks", { title: "Look" })).status).toBe(201);
  });
}
