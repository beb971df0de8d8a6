/** The parts of a change's page, each an answer to one of the approver's doubts. */
import type { ChangeDetail, Gate, IntentView, Status } from "../../core/api_types.ts";
import { figure, pretty, readable } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { changeHref, href } from "../../core/router.tsx";
import { readHistory, setBefore } from "../../domain/change_history.ts";
import { shortly } from "../../domain/sentences.ts";
import { type Mark as MarkOf, statusMark, titled } from "../../domain/statuses.ts";
import { stepsOf } from "../../domain/timeline.ts";
import { Diff, Patch } from "../../parts/diff.tsx";
import { Mark, Sign } from "../../parts/mark.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Code, Given, Json, Prose, Sentence } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";
import { DryRun } from "./dry_run.tsx";

const DIFFERENT: Readonly<Record<Status, string>> = {
  proposed: "What will be different?",
  pending_consent: "What will be different?",
  approved: "What will be different?",
  applied: "What is different?",
  rolled_back: "What was different?",
  denied: "What would be different?",
};

/** What the change sets, against what was there, and why. */
export function WhatChanges({ change }: { change: ChangeDetail }) {
  const { data: history } = useResource(`history ${change.change_id}`, (signal) => readHistory(change, signal));
  const before = history && setBefore(change, history);
  const others = (history ?? []).filter(({ change_id }) => change_id !== change.change_id).slice(0, 5);
  return (
    <Panel title={DIFFERENT[change.status]}>
      {change.erased ? (
        <p>
          Its content was erased on <Moment at={change.erased.at} />: what it said and set is gone. The log and the
          digest stay.
        </p>
      ) : change.value === undefined ? (
        <p>
          The change carries no value: it says that <Given text={change.target} code /> changes, and sets nothing.
        </p>
      ) : isPatch(change.value) ? (
        <Patch label="Patch" text={change.value.patch} />
      ) : (
        <>
          <p class="quiet">
            {before ? (
              <>
                Against what <a href={changeHref(before.by)}>the change before it</a> set:
              </>
            ) : (
              <>
                Nothing was set at <Given text={change.target} code /> through this service before; the change sets:
              </>
            )}
          </p>
          <Diff label="Before and after" before={before && pretty(before.value)} after={pretty(change.value)} />
        </>
      )}
      {(change.status === "approved" || change.status === "pending_consent") && (
        <DryRun key={change.revision} change={change} />
      )}
      {!change.erased && (
        <>
          <h3>Why</h3>
          <Prose text={change.rationale} empty="No rationale was given." />
        </>
      )}
      {others.length > 0 && (
        <details>
          <summary>Other changes on this target</summary>
          <ul class="plain">
            {others.map((one) => (
              <li key={one.change_id}>
                <a href={changeHref(one.change_id)}>
                  <Sentence parts={shortly(one)} />
                </a>{" "}
                <Mark of={statusMark(one)} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

const isPatch = (given: unknown): given is { patch: string } =>
  typeof given === "object" && given !== null && typeof (given as { patch?: unknown }).patch === "string";

/** While a change waits, a consent that is not there yet is nothing wrong. */
const isAwaited = (gate: Gate["gate"], { status }: ChangeDetail): boolean =>
  status === "pending_consent" && (gate === "consent" || gate === "owners");

const WAITS: MarkOf = { word: "Waits", shape: "quarter", tone: "wait" };

const GATE: Readonly<Record<Gate["state"], MarkOf>> = {
  pass: { shape: "check", tone: "good", word: "Passes" },
  block: { shape: "cross", tone: "bad", word: "Blocks" },
  warn: { shape: "bang", tone: "warn", word: "Warns" },
};

/** Whom it can hurt, and what stands in between. */
export const BlastRadius = ({ change }: { change: ChangeDetail }) => (
  <Panel title="Whom does it reach?">
    <Facts
      of={[
        [
          "People",
          change.erased ? "erased" : change.affected_users === null ? "not stated" : figure(change.affected_users),
        ],
        ["Tenant", <Given text={change.tenant_id} />],
        ["Undo", change.reversible ? "it can be undone" : "it cannot be undone"],
        ["Risk", change.risk],
        ["Tier", `${change.tier}, ${consentsOf(change)}`],
        ["Kind", change.kind.replaceAll("_", " ")],
      ]}
    />
    {change.gates.length > 0 && (
      <>
        <h3>Gates</h3>
        <ul class="gates">
          {change.gates.map(({ gate, state, message }) => (
            <li key={gate}>
              <Mark of={isAwaited(gate, change) ? WAITS : GATE[state]} />
              <span>
                <strong>{titled(gate)}</strong> <Given text={readable(message)} />
              </span>
            </li>
          ))}
        </ul>
      </>
    )}
  </Panel>
);

const consentsOf = ({ required_approvers: needed }: ChangeDetail): string =>
  needed === 0 ? "the intent consents by itself" : needed === 1 ? "1 consent" : `${needed} consents`;

/** Who did what, and what they said. */
export const Timeline = ({ change }: { change: ChangeDetail }) => (
  <Panel title="What happened so far?">
    <ol class="timeline">
      {stepsOf(change.audit_entries).map(({ id, at, what, proven, note, shape, tone }) => (
        <li key={id} class={tone}>
          <Sign shape={shape} />
          <div>
            <p>
              <Sentence parts={what} />.
            </p>
            {proven.length > 0 && (
              <p class="quiet">
                <Sentence parts={proven} />
              </p>
            )}
            {note !== "" && (
              <blockquote>
                <Prose text={note} />
              </blockquote>
            )}
            <small class="quiet">
              <Moment at={at} />, <a href={href(["audit"], { change_id: change.change_id })}>entry {id}</a>
            </small>
          </div>
        </li>
      ))}
    </ol>
  </Panel>
);

/** The record as it is, and how to get it without this page. */
export function Raw({
  change,
  intent,
  commands,
}: {
  change: ChangeDetail;
  intent: IntentView | undefined;
  commands: string;
}) {
  return (
    <Panel title="For programs">
      <details>
        <summary>The same with curl</summary>
        <Code label="Commands">{commands}</Code>
      </details>
      <details>
        <summary>Raw JSON</summary>
        <Json label="The change as JSON" of={change} />
      </details>
      <Facts
        wide
        of={[
          ["Change", <Given text={change.change_id} code />],
          ["Revision", String(change.revision)],
          ["Digest of what is consented to", <Given text={change.digest} code />],
          ["Intent in force", <Given text={intent?.manifest_hash ?? "unknown"} code />],
        ]}
      />
    </Panel>
  );
}
