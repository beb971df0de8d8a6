/** Notices, cautions, receipts and errors of a page. */
import type { ComponentChildren } from "preact";
import { isAbsent, isRuntimeOff, NotSentError, ServiceError, UnreachableError } from "../core/api.ts";
import { adminToken } from "../core/session.ts";
import { explainError } from "../domain/messages.ts";
import type { Shape, Tone } from "../domain/statuses.ts";
import { CopyBlock, CopyButton } from "./button.tsx";
import { Icon } from "./badge.tsx";
import { UserText, Sentence } from "./text.tsx";
import type { AuditEntry } from "../core/api_types.ts";
import { shortenHash } from "../core/format.ts";
import type { Part } from "../../../lib/wording/part.ts";

const SHAPE: Readonly<Record<Tone, Shape>> = { quiet: "dash", wait: "ring", good: "check", bad: "bang", warn: "bang" };

/** A box with a sentence or two; `alert`: screen readers read it immediately. */
export function Notice(props: { tone: Tone; alert?: boolean; children: ComponentChildren }) {
  const { tone, alert = false, children } = props;
  return (
    <div class={`notice ${tone}`} role={alert ? "alert" : undefined}>
      <Icon shape={SHAPE[tone]} />
      <div>{children}</div>
    </div>
  );
}

/** The message of an error: of the service, or of the connection to the service. */
export function Failure(props: { error: unknown; alert?: boolean; tokenHint?: string }) {
  const { error, alert = false, tokenHint: hint = describeToken("under “You”") } = props;
  if (error === undefined) return null;
  if (error instanceof ServiceError) {
    const { fields = [], code } = error.body;
    return (
      <Notice tone="bad" alert={alert}>
        <p>{fields.length > 1 ? "Nothing was accepted, since:" : <UserText text={explainError(error.body)} />}</p>
        {fields.length > 1 && (
          <ul>
            {fields.map(({ field, message }) => (
              <li key={field}>
                <code>{field}</code> <UserText text={message} />
              </li>
            ))}
          </ul>
        )}
        {code === "unauthorized" && <p>{hint}</p>}
      </Notice>
    );
  }
  return (
    <Notice tone="bad" alert={alert}>
      <p>
        {error instanceof UnreachableError || error instanceof NotSentError
          ? error.message
          : "This page failed to read the answer."}
      </p>
    </Notice>
  );
}

/** Asks for the admin token, or for the right one if a wrong one was sent. */
export const describeToken = (where: string): string =>
  adminToken.get() === ""
    ? `Enter the token ${where} and try again.`
    : `The token is not the right one. Enter it again ${where}.`;

/** A placeholder until data are read, or the error. */
export function Pending({ error, what }: { error: unknown; what: string }) {
  if (error === undefined)
    return (
      <p class="quiet" aria-busy="true">
        Reading {what}…
      </p>
    );
  if (isRuntimeOff(error)) return <RuntimeOff />;
  if (isAbsent(error)) return <p class="quiet absent">Not available on this service.</p>;
  return <Failure error={error} />;
}

const START_COMMAND =
  "countersign serve --product-intent product_intent.json --product-config data/product_config.json";

const INTENT = `{
  "product_id": "my-product",
  "version": "1",
  "approved_by": "you@example.com",
  "update_epoch": 1
}`;

/** Explains how to start the service with a product intent. */
export const RuntimeOff = () => (
  <section class="empty">
    <h2>The product runtime is off</h2>
    <p>
      This service was started without a product intent, so there is nothing to govern yet. Stop it and start it with
      one:
    </p>
    <CopyBlock label="Start command" text={START_COMMAND} />
    <p>
      The smallest <code>product_intent.json</code> names the product and its approver:
    </p>
    <CopyBlock label="Product intent" text={INTENT} />
    <p class="quiet">
      In a checkout of the source, <code>npm start</code> does the same with the example intent.
    </p>
  </section>
);

/** The number and hash of an entry. Stored elsewhere, they show later that the log was not cut or rewritten. */
export const Receipt = ({ entry }: { entry: AuditEntry }) => (
  <p class="receipt">
    Receipt: entry {entry.id}, <code title={entry.current_hash}>{shortenHash(entry.current_hash)}</code>{" "}
    <CopyButton label="Copy receipt" text={JSON.stringify(entry)} />
  </p>
);

/** Facts to know before a decision, each as a sentence. */
export const Cautions = ({ of }: { of: readonly Part[][] }) =>
  of.length === 0 ? null : (
    <Notice tone="warn">
      {of.map((sentence, index) => (
        <p key={index}>
          <Sentence parts={sentence} />
        </p>
      ))}
    </Notice>
  );
