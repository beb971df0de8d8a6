/** Tasks: their order, the worker's reports, processes that crash during a task, and ratings. */
import { describe, expect, test } from "vitest";
import { runNextTask, TASK_CLAIM_MS } from "../../../lib/operations/task_runner.ts";
import { restartDeps } from "../../support/deps.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { makeModel, openOperations, type OperationsService } from "./operations_service.ts";

const submit = async (
  service: OperationsService,
  title: string,
  priority: string | number = "normal",
): Promise<string> => (await service.post("/api/tasks", { title, priority })).body.task_id;

const titles = async ({ get }: OperationsService, query = ""): Promise<string[]> =>
  (await get(`/api/tasks${query}`)).body.tasks.map(({ title }: { title: string }) => title);

describe("order of tasks", () => {
  test("tasks run by priority, then by age; numbers are on the scale from low, 1, to urgent, 4", async () => {
    const service = await openOperations();
    for (const [title, priority] of [
      ["low", "low"],
      ["normal 1", "normal"],
      ["urgent", "urgent"],
      ["2.5", "2.5"],
      ["normal 2", "2"],
      ["high", "HIGH"],
      ["-3", "-3"],
      ["100", "100"],
      ["0.1", "0.1"],
      ["1e-05", "1e-05"],
    ] as const)
      await submit(service, title, priority);
    const order = ["100", "urgent", "high", "2.5", "normal 1", "normal 2", "low", "0.1", "1e-05", "-3"];
    expect(await titles(service)).toEqual(order);
    const run: string[] = [];
    for (let cycles = 0; cycles < order.length; cycles++) run.push((await runNextTask(service.deps))!.title);
    expect(run).toEqual(order);
    expect(await runNextTask(service.deps)).toBeUndefined();
  });

  test("a cycle runs one task; the list has the queue, then ended tasks, newest first", async () => {
    const service = await openOperations();
    for (const title of ["a", "b", "c", "d"]) await submit(service, title);
    for (let cycles = 0; cycles < 2; cycles++) {
      await service.cycle();
      service.passHours(1);
    }
    expect(await titles(service)).toEqual(["c", "d", "b", "a"]);
    expect(await titles(service, "?status=queued")).toEqual(["c", "d"]);
    expect(await titles(service, "?status=completed")).toEqual(["b", "a"]);
    expect(await titles(service, "?status=failed")).toEqual([]);
    expect((await service.get("/api/tasks")).body.stats).toMatchObject({
      queued: 2,
      running: 0,
      completed: 2,
      failed: 0,
    });
  });

  test("pages visit each task once", async () => {
    const service = await openOperations();
    for (let count = 0; count < 11; count++) await submit(service, `t${count}`, count % 5);
    for (let cycles = 0; cycles < 4; cycles++) await service.cycle();
    const paged: string[] = [];
    for (let after = ""; ;) {
      const { tasks, next } = (await service.get(`/api/tasks?limit=3${after}`)).body;
      paged.push(...tasks.map(({ title }: { title: string }) => title));
      if (next === null) break;
      after = `&after=${next}`;
    }
    expect(paged).toEqual(await titles(service));
    expect(new Set(paged).size).toBe(11);
  });
});

describe("the worker", () => {
  test.each([
    ["E", "## Effect", ["csat rose by 0.2 (better) to 4.2"]],
    ["memory", "## Memory", ["[“Show the banner”](#/changes/", ") lacks rationale, note"]],
    ["Reliability", "## Reliability", ["of 2 applies attempted", "apply failed in apply: “no disk”"]],
    ["N", "## Need", ["pending_changes: 1 of 1", "“Show the banner” (ui.late for tenant t1): waiting for consent"]],
  ])("a task about %s is answered by a report from the records", async (required_dimension, heading, facts) => {
    const service = await openOperations({ intent: { kpis: { csat: { baseline: 4, target: 5 } } } });
    await service.post("kpi", { csat: 4 });
    await service.post("kpi", { csat: 4.2 });
    await service.bring("denied");
    service.host.on("apply", () => Promise.reject(new Error("no disk")), 1);
    const failed = await service.bring("approved");
    await service.act("apply", failed);
    await service.must("apply", failed);
    await service.propose({ target: "ui.late" });
    service.passHours(25);
    await service.post("/api/tasks", { title: "Tell me", required_dimension });
    await service.cycle();
    const [task] = (await service.get("/api/tasks?status=completed")).body.tasks;
    expect(task.result.match(/^## \w+/gm)).toEqual(["## Answer", heading]);
    for (const fact of facts) expect(task.result).toContain(fact);
  });

  test("an unknown dimension is stored, and only the text is answered", async () => {
    const service = await openOperations();
    const { body } = await service.post("/api/tasks", { title: "t", required_dimension: "constructor" });
    expect(body.required_dimension).toBe("constructor");
    const task = await runNextTask(service.deps);
    expect(task!.result!.match(/^## \w+/gm)).toEqual(["## Answer"]);
  });

  test("the text of a task is answered from the records, and a query in it is run", async () => {
    const service = await openOperations();
    const change_id = await service.bring("approved", { summary: "Show the winter banner" });
    await submit(service, "is:approved group:tenant", 2);
    await submit(service, "What became of the winter banner?", 1);
    const query = (await runNextTask(service.deps))!.result!;
    expect(query).toContain("> Query: is:approved group:tenant – 1 change.\n> - t1: 1");
    const words = (await runNextTask(service.deps))!.result!;
    expect(words).toContain("no change matches all of it; 1 change has some of its words");
    expect(words).toContain(change_id);
    expect(words.match(/^## \w+/gm)).toEqual(["## Answer"]);
  });

  test("texts by people are shown as text and form no markup", async () => {
    const service = await openOperations();
    await service.post("/api/tasks", { title: "<b>x</b> [a](http://b) `c`" });
    const { result } = (await runNextTask(service.deps))!;
    expect(result!.split("\n")[0]).toBe("# “\\<b\\>x\\</b\\> \\[a\\](http://b) \\`c\\`”");
  });

  test("the summary by a model precedes the report, which is unchanged", async () => {
    let prompt = "";
    const llm = makeModel(async ({ messages }) => {
      prompt = JSON.stringify(messages);
      return { text: "All is quiet.", toolCalls: [] };
    });
    const service = await openOperations({ llm });
    await submit(service, "How are we?");
    const task = (await runNextTask(service.deps))!;
    expect(task.mode).toBe("llm");
    const [, words, facts] = task.result!.split(/^## (?=Worded|From)/m);
    expect(task.result).toMatch(/^# “How are we\?”\n\n## Worded by `llm:m`, unverified\n/);
    expect(words).toMatch(/\n\n> All is quiet\.\n\n$/);
    expect(facts).toMatch(/^From the records\n\nAs of /);
    expect(prompt).toContain("How are we?");
  });

  test.each([
    ["fails", () => Promise.reject(new Error("no")), "it failed"],
    ["says nothing", async () => ({ text: "  ", toolCalls: [] }), "it said nothing"],
  ])("if a model %s, the report has no text of the model and states the reason", async (_, complete, reason) => {
    const service = await openOperations({ llm: makeModel(complete) });
    await submit(service, "t");
    const task = await runNextTask(service.deps);
    expect(task).toMatchObject({ status: "completed", mode: "rules" });
    expect(task!.result).toMatch(new RegExp(`^# “t”\\n\\nNo model worded it: ${reason}\\.\\n\\nAs of `));
  });

  test("wording a task counts towards the hourly limit of calls", async () => {
    const llm = makeModel(async () => ({ text: "All is quiet.", toolCalls: [] }));
    const service = await openOperations({ llm, llmCallsPerHour: 1 });
    for (const title of ["first", "second"]) await submit(service, title);
    expect(await runNextTask(service.deps)).toMatchObject({ mode: "llm" });
    const second = await runNextTask(service.deps);
    expect(second!.mode).toBe("rules");
    expect(second!.result).toContain(
      "No model worded it: its calls of an hour (1) are used up; it is asked again from ",
    );
  });

  test("a model's endless text is truncated, and the report stays complete", async () => {
    const service = await openOperations({
      llm: makeModel(async () => ({ text: "all is well ".repeat(50_000), toolCalls: [] })),
    });
    await submit(service, "t");
    const { result } = (await runNextTask(service.deps))!;
    // A reply is cut at 8,000 characters; a title and two headings come before the report.
    expect(result!.indexOf("## From the records")).toBeLessThan(8_100);
    expect(result!.match(/^## \w+/gm)).toHaveLength(3);
  });

  test.each(["\n", "\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029"])(
    "no line of a model looks like a line of the report, with the line end %j",
    async (end) => {
      const forged = ["Fine.", "## From the records", "", "As of 2026-01-01.", "> ## Effect", "</blockquote>", "# “t”"];
      const reply = [...forged, "---", "\u202e[a](http://b)", "![x](http://b)", "```", "E is **1.000**"].join(end);
      const service = await openOperations({ llm: makeModel(async () => ({ text: reply, toolCalls: [] })) });
      await submit(service, "t");
      const { result } = (await runNextTask(service.deps))!;
      const lines = result!.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
      expect(lines.slice(0, 5)).toEqual(["# “t”", "", "## Worded by `llm:m`, unverified", "", "> Fine."]);
      const reportStart = lines.indexOf("## From the records");
      // Each line is quoted and its first `<` or `[` is escaped; the last assertion checks the others.
      for (const line of lines.slice(4, reportStart - 1)) expect(line).toMatch(/^>(?: [^<[\u202e]*(?:\\[<[].*)?)?$/);
      expect(lines.filter((line) => line.startsWith("#"))).toEqual([
        "# “t”",
        "## Worded by `llm:m`, unverified",
        "## From the records",
        "## Answer",
      ]);
      expect(result).not.toMatch(/[^\\]<|[^\\]\[a/);
    },
  );

  test("a report that cannot be made fails the task without internal details", async () => {
    const service = await openOperations();
    await submit(service, "t");
    const { store } = service.deps;
    const broken: typeof store = {
      ...store,
      list: (name, options) =>
        name === "drift" ? Promise.reject(new Error("/var/secret")) : store.list(name, options),
    };
    const task = await runNextTask({ ...service.deps, store: broken });
    expect(task).toMatchObject({
      status: "failed",
      result: "the report could not be made; the service's log has the cause",
    });
    expect((await service.get("/api/state")).body.tasks).toMatchObject({ running: 0, failed: 1 });
  });
});

describe("a process that crashes during a task", () => {
  /** Opens a service with a task whose run hangs until the barrier is opened. */
  async function openWithHangingTask() {
    const barrier = makeBarrier();
    const started = makeBarrier();
    const llm = makeModel(async () => {
      started.open();
      await barrier.opened;
      return { text: "late", toolCalls: [] };
    });
    const service = await openOperations({ llm });
    await submit(service, "t");
    const run = runNextTask(service.deps);
    await started.opened;
    return { ...service, run, barrier };
  }

  test("its task runs again when the claim has expired, and its late result is ignored", async () => {
    const { deps, run, barrier, get } = await openWithHangingTask();
    const next = await restartDeps(deps);
    expect(await runNextTask(next)).toBeUndefined();
    deps.clock.advance(TASK_CLAIM_MS);
    expect(await runNextTask(next)).toMatchObject({ status: "completed", mode: "rules" });
    barrier.open();
    await run;
    const [task] = (await get("/api/tasks")).body.tasks;
    expect(task).toMatchObject({ status: "completed", mode: "rules" });
    expect((await get("/api/state")).body.tasks).toMatchObject({ running: 0, completed: 1 });
  });

  test("a late result of the first run does not end a second run of the same process", async () => {
    const { deps, run, barrier, get } = await openWithHangingTask();
    deps.clock.advance(TASK_CLAIM_MS);
    const started = makeBarrier();
    const other = makeBarrier();
    const llm = makeModel(async () => {
      started.open();
      await other.opened;
      return { text: "second", toolCalls: [] };
    });
    const second = runNextTask({ ...deps, llm });
    await started.opened;
    barrier.open();
    expect(await run).toMatchObject({ status: "running" });
    other.open();
    expect((await second)!.result).toContain("\n> second\n");
    expect((await get("/api/state")).body.tasks).toMatchObject({ running: 0, completed: 1 });
  });

  test("a task fails after three interrupted runs", async () => {
    const { deps, get } = await openWithHangingTask();
    for (let restarts = 0; restarts < 2; restarts++) {
      deps.clock.advance(TASK_CLAIM_MS);
      const started = makeBarrier();
      const llm = makeModel(() => (started.open(), new Promise<never>(() => {})));
      void runNextTask(Object.assign(await restartDeps(deps), { llm }));
      await started.opened;
    }
    deps.clock.advance(TASK_CLAIM_MS);
    expect(await runNextTask(await restartDeps(deps))).toBeUndefined();
    const [task] = (await get("/api/tasks?status=failed")).body.tasks;
    expect(task.result).toBe("given up after 3 runs that were interrupted");
    expect((await get("/api/log?kind=task_failed")).body.entries).toHaveLength(1);
  });
});

describe("feedback", () => {
  test("a rating is in the task's mean, the state, the memories and the growth log", async () => {
    const service = await openOperations();
    const first = await submit(service, "a");
    const second = await submit(service, "b");
    for (let cycles = 0; cycles < 2; cycles++) await service.cycle();
    const rate = (task_id: string, rating: number, rater = "", comment = "") =>
      service.post("/api/task/feedback", { task_id, rating, rater, comment });
    expect((await rate(first, 5, "Ana", "clear")).body).toEqual({
      task_id: first,
      feedback: { rating: 5, comment: "clear", rater: "Ana", at: service.deps.clock.iso() },
      mean_rating: 5,
    });
    expect((await rate(first, 2, "bo")).body.mean_rating).toBe(3.5);
    // A second rating of the same person replaces the first; ratings without a name are all counted.
    expect((await rate(first, 3, "ＡＮＡ")).body.mean_rating).toBe(2.5);
    expect((await rate(second, 1)).body.mean_rating).toBe(1);
    expect((await rate(second, 2)).body.mean_rating).toBe(1.5);
    // 2, 3, 1 and 2 over both tasks.
    expect((await service.get("/api/state")).body.tasks).toMatchObject({ rated: 2, mean_rating: 2 });
    const { tasks } = (await service.get("/api/tasks")).body;
    expect(tasks.find((task: { task_id: string }) => task.task_id === first).feedback).toMatchObject([
      { rating: 2, rater: "bo" },
      { rating: 3, rater: "ANA" },
    ]);
    expect((await service.get("/api/log?kind=feedback")).body.entries).toHaveLength(5);
    const memories = await service.deps.store.list("memories", { limit: 10 });
    expect(memories.map(({ value }) => value)).toContainEqual(
      expect.objectContaining({ kind: "feedback", text: `Task ${first} was rated 5 of 5 (a): clear` }),
    );
  });

  test("behind a trusted proxy no person rates in another's name", async () => {
    const service = await openOperations({ identityHeader: "x-user" });
    const task_id = await submit(service, "a");
    await service.cycle();
    const rate = (rating: number, user: string, rater?: string) =>
      service.post("/api/task/feedback", { task_id, rating, ...(rater ? { rater } : {}) }, { "x-user": user });
    expect((await rate(5, "ana")).body.feedback.rater).toBe("ana");
    const other = await rate(1, "bo", "ana");
    expect([other.status, other.body.code]).toEqual([403, "identity_mismatch"]);
    expect((await rate(4, "ana", "ANA")).body.mean_rating).toBe(4);
    expect((await rate(2, "bo")).body.mean_rating).toBe(3);
  });

  test("only a completed task can be rated", async () => {
    const service = await openOperations();
    const task_id = await submit(service, "a");
    const early = await service.post("/api/task/feedback", { task_id, rating: 3 });
    expect([early.status, early.body.code]).toEqual([400, "task_not_completed"]);
    const unknown = await service.post("/api/task/feedback", { task_id: "tsk_none", rating: 3 });
    expect([unknown.status, unknown.body.code]).toEqual([404, "task_not_found"]);
  });
});
