/**
 * Answers deployments that wait on GitHub. Each decision is made right before its answer is posted, and is in the log by then.
 * Failed answers are tried again, also after a restart.
 */
import { readHead } from "../../audit/chain.ts";
import { readLaterEntries } from "../../audit/page.ts";
import { requireGate, answerWaitingIfUndecided } from "../../changes/gate/ask_gate.ts";
import { checkRelease } from "../../changes/gate/check_release.ts";
import { readRecords, formatTargetKey } from "../../changes/records.ts";
import type { GateDecision } from "../../changes/rules/decide_gate.ts";
import { listEntries } from "../../changes/rules/list_entries.ts";
import { GithubFailed } from "../../github/app.ts";
import { decisionPath } from "../../github/delivery.ts";
import type { GithubGate } from "../../github/gate.ts";
import { AppError } from "../../kit/errors.ts";
import { target as targetSchema } from "../../kit/fields.ts";
import { DAY_MS, HOUR_MS } from "../../kit/days.ts";
import { listPages } from "../../store/pages.ts";
import type { OperationsDeps } from "../deps.ts";
import { startPasses } from "../pass_loop.ts";
import { retryDelay, SEND_TIMES, type SendTimes } from "../send_loop.ts";
import { describeDecision } from "./comment.ts";
import {
  claimDeployment,
  closeDeployment,
  deploymentTarget,
  removeOldAnswers,
  MAX_WAIT_MS,
  postponeDeployment,
  type WaitingDeployment,
} from "./deployments.ts";
import { sweepDeliveries } from "./sweep.ts";

/** Answers deployments. */
export interface GithubAnswers {
  /** Returns the reason why answers fail now; null if they do not. */
  problem(): string | null;
  /** Answers the deployments that are due; resolves with the milliseconds until the next is. Errors: those of the store. */
  pass(stopped?: AbortSignal): Promise<number>;
}

/** A deployment is decided again after this time, for events without an entry: a window opens, a freeze ends. */
const POLL_MS = 60_000;
/** A pass starts no answer after this time, so that a cycle ends. */
const PASS_MS = 20_000;
const PAGE_SIZE = 100;
/** Deployments that are answered concurrently. */
const MAX_CONCURRENT = 5;
/** Comments on the reasons to wait; GitHub accepts ten on a deployment, including the decision. */
const MAX_REPORTS = 5;
/** New entries that a pass reads to find the affected deployments; after more, all are decided again. */
const MAX_NEW_ENTRIES = 200;
/** GitHub's statuses for a deployment that no longer waits, or a repository without the App. */
const GONE_STATUSES: ReadonlySet<number | undefined> = new Set([404, 410, 422]);
/** Such a status counts as final after this time and this many consecutive failures. */
const GONE_AFTER_MS = DAY_MS;
const GONE_AFTER_FAILURES = 10;
/** Longer pauses than for notifications, since a person must repair an App without permissions. */
const TIMES: SendTimes = { ...SEND_TIMES, longestRetry: HOUR_MS };

/** Creates the answers to deployments for the gates of the adapter. */
export function createGithubAnswers(
  deps: OperationsDeps,
  { random = Math.random }: { random?: () => number } = {},
): GithubAnswers {
  const { store, clock, log } = deps;
  /** Length of the log at the last pass. */
  let lastLength: number | undefined;
  let problem: string | null = null;
  let sweepProblem: string | null = null;

  /** Returns a predicate for deployments whose decision an entry since the last pass may have changed. */
  const findAffected = async (): Promise<(waiting: WaitingDeployment) => boolean> => {
    const after = lastLength;
    const { length } = (await readHead(store)) ?? { length: 0 };
    lastLength = length;
    if (after === undefined || after > length || length - after > MAX_NEW_ENTRIES) return () => true;
    const entries = await readLaterEntries(store, after, length - after);
    // Checks of releases, also those of this process, change no decision.
    const newEntries = entries.filter(({ event_type }) => event_type !== "release_checked");
    // An entry about no change, for example a freeze, may affect every deployment.
    if (newEntries.some(({ change_id }) => change_id === "")) return () => true;
    const records = await readRecords(store, [...new Set(newEntries.map(({ change_id }) => change_id))]);
    const changedTargets = new Set(
      records.flatMap((record) => (record ? listEntries(record.change).map(formatTargetKey) : [])),
    );
    return (waiting) => {
      const gate = findGate(deps, waiting);
      return gate !== undefined && changedTargets.has(formatTargetKey({ ...gate, target: deploymentTarget(waiting) }));
    };
  };

  /** Answers a claimed deployment, or reports why it waits. Errors: `GithubFailed`. */
  const answerOne = async (id: string, waiting: WaitingDeployment, stopped?: AbortSignal): Promise<void> => {
    const gate = findGate(deps, waiting);
    if (!gate) throw new GithubFailed(`the gate ${waiting.gate} has no GitHub App any more`);
    // Before the decision, so that only the answer itself follows it.
    await gate.app.authorize(waiting, stopped);
    const decision = await recordDecision(deps, gate, waiting);
    const comment = describeDecision(decision, deps.publicUrl);
    const post = (fields: object) =>
      gate.app.send({
        method: "POST",
        path: decisionPath(waiting),
        body: { environment_name: waiting.environment, ...fields, comment },
        as: waiting,
        canceled: stopped,
      });
    if (decision.state === "waiting") return report(id, waiting, comment, () => post({}));
    const answer = decision.state === "allowed" ? "approved" : "rejected";
    await post({ state: answer });
    await closeDeployment(store, id, answer, clock.now());
    log.info("a deployment was answered", { ...deploymentFacts(waiting), answer, change_id: decision.change_id });
  };

  /** Comments once on each reason to wait; a failed comment does not delay the decision. */
  const report = async (
    id: string,
    { reported, reports, failures }: WaitingDeployment,
    comment: string,
    post: () => Promise<unknown>,
  ): Promise<void> => {
    const isNew = comment !== reported && reports < MAX_REPORTS;
    if (isNew) await post().catch((error: unknown) => log.warn("a comment was not taken", { error: String(error) }));
    if (isNew || failures > 0)
      await postponeDeployment(store, id, { failures: 0, ...(isNew && { reported: comment, reports: reports + 1 }) });
  };

  /** Tries once, unless another process does. `next`: when the deployment is due again. */
  const attempt = async (
    id: string,
    due: number,
    stopped?: AbortSignal,
  ): Promise<{ next: number; failed: boolean }> => {
    const nextPoll = { next: clock.now() + POLL_MS, failed: false };
    const waiting = await claimDeployment(store, id, { due, until: nextPoll.next });
    if (!waiting) return nextPoll;
    const age = clock.now() - waiting.received;
    try {
      if (age > MAX_WAIT_MS) await closeDeployment(store, id, "expired", clock.now());
      else await answerOne(id, waiting, stopped);
      return nextPoll;
    } catch (error) {
      if (!(error instanceof GithubFailed)) throw error;
      if (stopped?.aborted) return nextPoll;
      const { message, status, retryAfterMs } = error;
      if (GONE_STATUSES.has(status) && age > GONE_AFTER_MS && waiting.failures >= GONE_AFTER_FAILURES) {
        log.warn("GitHub takes no answer for a deployment", { ...deploymentFacts(waiting), failure: message });
        await closeDeployment(store, id, "gone", clock.now());
        return nextPoll;
      }
      if (message !== problem)
        log.warn("a deployment could not be answered; it is tried again", {
          ...deploymentFacts(waiting),
          failure: message,
        });
      problem = message;
      const next = clock.now() + retryDelay({ failure: message, retryAfterMs }, waiting.failures, TIMES, random);
      await postponeDeployment(store, id, { failures: waiting.failures + 1, due: next });
      return { next, failed: true };
    }
  };

  /** Answers the deployments that are due, and returns the time of the next. */
  const answerDue = async (stopped?: AbortSignal): Promise<number> => {
    const isAffected = await findAffected();
    const begun = clock.now();
    const isOver = (): boolean => clock.now() - begun > PASS_MS || stopped?.aborted === true;
    let next = Infinity;
    let isFailing = false;
    for await (const page of listPages(store, "github_waiting", { limit: PAGE_SIZE })) {
      // After a failure the pause is kept, whatever the new entries are.
      const isDue = ({ value }: (typeof page)[0]): boolean =>
        value.due <= begun || (value.failures === 0 && isAffected(value));
      const due = page.filter(isDue);
      const rest = page.filter((row) => !isDue(row));
      next = Math.min(next, ...rest.map(({ value }) => value.due));
      isFailing ||= rest.some(({ value }) => value.failures > 0);
      for (let first = 0; first < due.length; first += MAX_CONCURRENT) {
        // The other deployments are still due.
        if (isOver()) return begun;
        const batch = due.slice(first, first + MAX_CONCURRENT);
        const results = await Promise.allSettled(batch.map(({ id, value }) => attempt(id, value.due, stopped)));
        for (const result of results) {
          if (result.status === "rejected") throw result.reason;
          next = Math.min(next, result.value.next);
          isFailing ||= result.value.failed;
        }
      }
    }
    if (!isFailing) problem = null;
    return next;
  };

  return {
    problem: () => problem ?? sweepProblem,
    pass: (stopped) =>
      deps.mutex("github", async () => {
        const next = await answerDue(stopped);
        const { due, failure } = await sweepDeliveries(deps, stopped);
        sweepProblem = failure;
        await removeOldAnswers(store, clock.now());
        return Math.max(0, Math.min(next, due) - clock.now());
      }),
  };
}

/** Decides on a deployment; the entry is durable when this resolves. */
const recordDecision = (
  deps: OperationsDeps,
  { tenant_id, app }: GithubGate,
  waiting: WaitingDeployment,
): Promise<GateDecision> =>
  answerWaitingIfUndecided(async () => {
    const { repository, environment, deployment_id, run_id, head } = waiting;
    const question = { tenant_id, target: deploymentTarget(waiting), head };
    // The gate's patterns ignore case, which turns some letters of other scripts into ASCII: they match names that no target has.
    const { error: invalid } = targetSchema().safeParse(question.target);
    if (invalid) {
      const reason = `no change can release to the environment ${JSON.stringify(environment)}: its target ${invalid.issues[0]!.message}`;
      return { state: "refused", change_id: null, reasons: [reason] };
    }
    try {
      requireGate(deps.product!.adapter, question);
    } catch (error) {
      if (error instanceof AppError) return { state: "waiting", change_id: null, reasons: [error.message] };
      throw error;
    }
    const sub = `repo:${repository}:environment:${environment}:deployment:${deployment_id}`;
    return checkRelease(deps, question, { iss: app.api, sub, run_id });
  });

const findGate = ({ product }: OperationsDeps, { gate }: WaitingDeployment): GithubGate | undefined =>
  product?.adapter?.githubGates?.find(({ name }) => name === gate);

const deploymentFacts = ({ repository, environment, head, run_id }: WaitingDeployment): object => ({
  repository,
  environment,
  head,
  run_id,
});

/** Answers continuously, in a long-running process. */
export const startAnswering = (deps: OperationsDeps, answers: GithubAnswers): { stop(): Promise<void> } =>
  startPasses(deps, answers.pass, (error) => deps.log.warn("deployments wait for the store", { error: String(error) }));
