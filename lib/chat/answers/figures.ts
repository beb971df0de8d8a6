/** Answers from figures and what is kept beside changes: status, KPIs and goals, what is overdue, tasks, peers. */
import { reviewsDue } from "../../governance/reviews_due.ts";
import { figuresOf } from "../../pulse/figures.ts";
import { staleKpis } from "../../pulse/need.ts";
import { overdueOf } from "../../follow/overdue.ts";
import { type Task, taskPage } from "../../pulse/tasks.ts";
import type { PulseDeps } from "../../pulse/deps.ts";
import { driftReport } from "../../governance/drift.ts";
import { overview } from "../facts.ts";
import type { Say } from "../say/say.ts";
import { type Answer, type Asking, cite, find, lines, TOLD } from "./asking.ts";

/** The state, and with a product its intent, its counts and its log. */
export async function tellStatus(deps: PulseDeps, say: Say): Promise<Answer> {
  const { state, product } = await overview(deps);
  const citations = cite("state", [state.tick]);
  if (!product) return { text: say.state(state), citations };
  const { intent, audit } = product;
  citations.push(...cite("intent", [intent.manifest_hash]), ...cite("audit", audit.length > 0 ? [audit.length] : []));
  return { text: lines(say.product(product), say.state(state)), citations };
}

/** E with what each KPI adds to it, and how far each goal is; or only those that nobody has fed of late, or ever. */
export async function tellKpis({ deps, say, plan, question }: Asking): Promise<Answer> {
  const { effect, goals } = await figuresOf(deps);
  const asked = plan.filter.kpi === undefined ? undefined : [plan.filter.kpi].flat();
  const isOfOld = question.has("unfed");
  const parts = effect.parts.filter(
    ({ kpi, stale }) => (!asked || asked.includes(kpi)) && (stale || !isOfOld || asked),
  );
  const unfed = goals.filter(({ kpi, current }) => current === null && (!asked || asked.includes(kpi)));
  if (parts.length + unfed.length === 0 && !isOfOld) return { text: say.noKpis, citations: [] };
  return {
    text: lines(
      isOfOld && !asked ? say.unfedKpis(parts.length, unfed.length) : say.effect(effect.value),
      parts.map((part) =>
        say.kpi(
          part,
          goals.find(({ kpi }) => kpi === part.kpi),
          part.stale,
        ),
      ),
      unfed.map(({ kpi }) => say.unfed(kpi)),
      goals.flatMap(({ kpi, deadline }) => (asked?.includes(kpi) && deadline ? [say.dueGoal(deadline, kpi)] : [])),
    ),
    citations: cite(
      "kpi",
      [...parts, ...unfed].map(({ kpi }) => kpi),
    ),
  };
}

/** The four figures, and what makes N. */
export async function tellFigures({ deps, say }: Asking): Promise<Answer> {
  const { state } = await overview(deps);
  const { need } = await figuresOf(deps);
  return { text: lines(say.state(state), say.need(need)), citations: cite("state", [state.tick]) };
}

/** What is overdue, by name. */
export async function tellOverdue(asking: Asking): Promise<Answer> {
  const { deps, say } = asking;
  const { need, effect } = await figuresOf(deps);
  const pending = (await overdueOf(deps, "pending_changes")).map(({ id }) => id);
  const { rows } = await find(asking, { change_id: pending, limit: TOLD, order: "oldest" });
  const drift = await driftReport(deps);
  const episodes = [...drift.missing, ...drift.drifted].slice(0, TOLD);
  const reviews = await reviewsDue(deps.store);
  const stale = staleKpis(effect, deps.clock.now());
  return {
    text: lines(
      say.need(need),
      rows.length > 0 ? [say.overduePending(pending.length), ...rows.map(say.row)] : "",
      reviews.map(say.reviewDue),
      episodes.map(say.driftRow),
      stale.length > 0 ? say.stale(stale) : "",
    ),
    citations: [
      ...cite("change", [
        ...rows.map(({ change }) => change.change_id),
        ...reviews.map((one) => one.change_id),
        ...episodes.map((one) => one.change_id),
      ]),
      ...cite("kpi", stale),
    ],
  };
}

type TasksAsked = Pick<Asking, "deps" | "say"> & Partial<Pick<Asking, "question">>;
const isOpen = ({ status }: Task): boolean => status === "queued" || status === "running";

/** The tasks, those under way first; only these where open ones are asked for. */
export async function tellTasks({ deps, say, question }: TasksAsked): Promise<Answer> {
  const { tasks: first, stats } = await taskPage(deps.store, { limit: TOLD });
  // Those under way come first, so that no open one is behind a closed one.
  // "Which tasks are there? Which are open?" asks for all of them.
  const isOfOpen = question?.has("open", "pending", "waits") && !/[?？].*[?？]/s.test(question.text);
  const tasks = isOfOpen ? first.filter(isOpen) : first;
  return {
    text: lines(say.tasks(stats), tasks.map(say.task)),
    citations: cite(
      "task",
      tasks.map(({ task_id }) => task_id),
    ),
  };
}

/** The peers, where there is a link. */
export async function tellPeers({ deps, say }: Pick<Asking, "deps" | "say">): Promise<Answer> {
  const peers = deps.link ? await deps.link.peers() : undefined;
  return { text: peers ? lines(say.peers(peers.length), peers.map(say.peer)) : say.noLink, citations: [] };
}
