/** What people ask of the service beside changes: hand it in, read the result, rate it. */
import { useState } from "preact/hooks";
import type { Task, TaskStats } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { counted, figure } from "../core/format.ts";
import { usePageKeys, useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import type { Route } from "../core/router.tsx";
import { partsOf } from "../domain/report.ts";
import type { Mark as MarkOf } from "../domain/statuses.ts";
import { Mark } from "../parts/mark.tsx";
import { Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Given, Prose } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";
import { RateDialog } from "./tasks/rate.tsx";
import { SubmitDialog } from "./tasks/submit.tsx";

interface TaskPage {
  tasks: Task[];
  stats: TaskStats;
  next: string | null;
}

/** The queue and what came of it. */
export function TasksPage({ route: { query } }: { route: Route }) {
  const { data, error, reload } = useResource("tasks", (signal) => get<TaskPage>("api/tasks", { limit: 100 }, signal));
  const [submitting, setSubmitting] = useState(query.has("title"));
  const [rating, setRating] = useState<Task | undefined>();
  useTitle("Tasks");
  const rateFocused = () => {
    const id = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>("[data-task]")?.dataset["task"];
    const rated = data?.tasks.find(
      (one) => (id ? one.task_id === id : one.feedback.length === 0) && one.status === "completed",
    );
    if (rated) setRating(rated);
  };
  usePageKeys([
    { key: "n", label: "Submit a task", run: () => setSubmitting(true) },
    { key: "r", label: "Rate the task in focus, or the next that is not rated", run: rateFocused },
  ]);
  const ended = () => {
    setSubmitting(false);
    setRating(undefined);
    void reload();
  };
  return (
    <>
      <PageHead title="Tasks" lead={data && leadOf(data.stats)}>
        {data && (
          <button type="button" onClick={() => setSubmitting(true)}>
            Submit a task…
          </button>
        )}
      </PageHead>
      {!data && <Pending error={error} what="tasks" />}
      {data && (
        <Panel title="In running order">
          {data.tasks.length === 0 && (
            <p class="quiet">
              Nothing was asked yet. A task gets a report from the records: what moved, what is missing, what failed,
              what is overdue.
            </p>
          )}
          <ul class="rows">
            {data.tasks.map((task) => (
              <TaskRow key={task.task_id} task={task} onRate={() => setRating(task)} />
            ))}
          </ul>
          {data.next !== null && <p class="quiet">Only the first 100 are shown.</p>}
        </Panel>
      )}
      {submitting && <SubmitDialog from={query} onClose={() => setSubmitting(false)} onDone={ended} />}
      {rating && <RateDialog task={rating} onClose={() => setRating(undefined)} onDone={ended} />}
    </>
  );
}

function leadOf({ queued, running, completed, failed, rated, mean_rating }: TaskStats): string {
  const rating =
    mean_rating === null ? "none is rated" : `${figure(rated)} rated, ${mean_rating.toFixed(1)} of 5 on average`;
  const work = running > 0 ? `${counted(running, "task")} running, ` : "";
  return `${work}${figure(queued)} queued, ${figure(completed)} completed, ${figure(failed)} failed; ${rating}.`;
}

/** A model's words stand apart from the facts below them. */
function Report({ text }: { text: string }) {
  const { by, words, facts } = partsOf(text);
  return (
    <>
      {words !== null && (
        <>
          <p class="quiet">
            Worded by <Given text={by} />, unverified:
          </p>
          <blockquote>
            <Prose text={words} />
          </blockquote>
          <p class="quiet">From the records:</p>
        </>
      )}
      <Prose text={facts} />
    </>
  );
}

const STATUS: Readonly<Record<Task["status"], MarkOf>> = {
  queued: { word: "Queued", shape: "ring", tone: "wait" },
  running: { word: "Running", shape: "half", tone: "wait" },
  completed: { word: "Completed", shape: "check", tone: "good" },
  failed: { word: "Failed", shape: "bang", tone: "bad" },
  cancelled: { word: "Cancelled", shape: "cross", tone: "quiet" },
};

const DIMENSION: Readonly<Record<string, string>> = { E: "effect", M: "memory", R: "reliability", N: "need" };

function TaskRow({ task, onRate }: { task: Task; onRate: () => void }) {
  const { title, description, status, priority, required_dimension: dimension, result, mode, feedback } = task;
  const rating = feedback.at(-1);
  return (
    <li>
      <article class="row task" data-row data-task={task.task_id} tabIndex={-1}>
        <p class="row-title">
          <Given text={title} />
        </p>
        {description !== "" && <Prose text={description} />}
        <p class="row-meta">
          <Mark of={STATUS[status]} />
          <span>{typeof priority === "number" ? `priority ${figure(priority)}` : `${priority} priority`}</span>
          {dimension !== null && (
            <span>
              about <Given text={DIMENSION[dimension] ?? dimension} />
            </span>
          )}
          <Age at={task.completed_at ?? task.created_at} />
          {rating && (
            <span>
              rated {rating.rating} of 5
              {rating.rater !== null && (
                <>
                  {" "}
                  by <Given text={rating.rater} />
                </>
              )}
            </span>
          )}
        </p>
        {result !== null && (
          <details>
            <summary>
              {status === "failed" ? "Why it failed" : `The report${mode === "llm" ? ", with a model's words" : ""}`}
            </summary>
            <Report text={result} />
          </details>
        )}
        {feedback
          .filter(({ comment }) => comment !== "")
          .map(({ comment, at }) => (
            <blockquote key={at}>
              <Prose text={comment} />
            </blockquote>
          ))}
        {status === "completed" && (
          <button type="button" class="secondary small" onClick={onRate}>
            Rate…
          </button>
        )}
      </article>
    </li>
  );
}
