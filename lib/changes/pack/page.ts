/** An auditor's pack as a page to print: plain HTML with an inline style sheet, without scripts and external resources. */
import type { AuditEntry } from "../../audit/entry.ts";
import { readCheckpoint } from "../../audit/checkpoint.ts";
import { type WitnessDeps, readWitnessStates, appendCosignatures } from "../../audit/request_cosignatures.ts";
import { escapeHtml } from "../../kit/escape_html.ts";
import type { Identity } from "../runtime.ts";
import { readEntriesById } from "../../audit/page.ts";
import type { RecordedChange } from "../certificate.ts";
import { findChange } from "../records.ts";
import { describeAutomation } from "../rules/automation_words.ts";
import { canonicalContent } from "../rules/content.ts";
import { parseDetail } from "../rules/event.ts";
import { describe } from "../../wording/describe.ts";
import { capitalize, joinParts } from "../../wording/part.ts";
import { VERIFICATION_COMMANDS, packTitle } from "./readme.ts";
import { readScopeChanges, readScopeEntries, listIntents, type Scope } from "./scope.ts";

/** The style sheet; the page's content security policy allows only its hash. */
export const PACK_STYLE = `
:root { color-scheme: light; font: 10.5pt/1.45 Georgia, "Times New Roman", serif; color: #1a1a1a; background: #fff; }
body { margin: 0 auto; padding: 1.5rem; max-width: 50rem; }
h1, h2, h3, th, caption { font-family: system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #888; break-after: avoid; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; break-after: avoid; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; font-size: .9rem; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .5rem .25rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; overflow-wrap: normal; }
time { white-space: nowrap; }
tr { break-inside: avoid; }
thead { display: table-header-group; }
.facts th { width: 11rem; }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .85em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f5f5f5; border: 1px solid #ddd; padding: .5rem; margin: .5rem 0; }
.quiet { color: #555; }
section.change + section.change { break-before: page; }
@page { margin: 18mm 15mm; }
@media print { body { padding: 0; max-width: none; } pre { background: none; } a { color: inherit; text-decoration: none; } }
`;

/** Dependencies of the page. */
export type PageDeps = WitnessDeps & { product?: { identity: Identity } | undefined };

/** Yields the parts of the page. */
export async function* packPage(deps: PageDeps, scope: Scope): AsyncGenerator<string, undefined> {
  const { store, clock, product } = deps;
  const title = packTitle(scope);
  const madeAt = new Date(clock.now()).toISOString();
  const { note, length } = await readCheckpoint(deps);
  yield [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><style>${PACK_STYLE}</style></head><body>`,
    `<header><h1>${escapeHtml(title)}</h1>`,
    `<p>From the audit log of <strong>${escapeHtml(product?.identity.product_id ?? "")}</strong>, instance ${escapeHtml(product?.identity.instance_id ?? "")}. Made ${madeAt}, when the log had ${length} entries.</p>`,
    `<p class="quiet">This page is for reading. The files of the same pack, and the certificate of each change, are what proves it.</p></header><main>`,
  ].join("\n");
  if ("change_id" in scope) {
    const { change, audit } = await findChange(store, scope.change_id);
    yield formatChange({ change, entries: await readEntriesById(store, audit) });
  } else {
    yield `<section><h2>Entries</h2><table><thead>${formatHeadings(["Entry", "When", "What", "Change", "By"])}</thead><tbody>`;
    let count = 0;
    for await (const page of readScopeEntries(store, scope)) {
      count += page.length;
      yield page.map(({ entry }) => formatEntry(entry)).join("\n");
    }
    yield `</tbody></table>${count === 0 ? "<p>Nothing was recorded in this period.</p>" : ""}</section>`;
    for await (const recorded of readScopeChanges(store, scope)) yield formatChange(recorded);
  }
  yield `<section><h2>Intents</h2><p>The rules that these decisions were made under, by their SHA-256.</p>`;
  yield* formatIntents(deps, scope);
  yield `</section><section><h2>Checkpoint</h2><p>The log's name, its length and its Merkle root, with the signatures under it.</p>`;
  yield `<pre>${escapeHtml(appendCosignatures(note, await readWitnessStates(deps)).trimEnd())}</pre></section>`;
  yield `<section><h2>How this is checked</h2><p>With the files of the pack, and without the service:</p>`;
  yield VERIFICATION_COMMANDS.map(
    ([command, shows]) => `<pre>${escapeHtml(command)}</pre><p>shows ${escapeHtml(shows)}.</p>`,
  ).join("\n");
  yield `</section></main></body></html>\n`;
  return undefined;
}

const formatHeadings = (names: readonly string[]): string =>
  `<tr>${names.map((name) => `<th scope="col">${name}</th>`).join("")}</tr>`;
const formatRow = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
const formatCode = (text: string): string => `<code>${escapeHtml(text)}</code>`;
const formatTime = (at: string): string => `<time datetime="${escapeHtml(at)}">${escapeHtml(at)}</time>`;

/** Formats a table of facts; a fact without a value is left out. */
function formatFacts(facts: readonly (readonly [name: string, html: string | null])[]): string {
  const rows = facts.flatMap(([name, html]) =>
    html === null ? [] : [`<tr><th scope="row">${name}</th><td>${html}</td></tr>`],
  );
  return `<table class="facts"><tbody>${rows.join("")}</tbody></table>`;
}

function formatChange({ change, entries }: RecordedChange): string {
  const { erased } = change;
  const isUnstated = (field: "risk" | "reversible"): boolean => change.unstated?.includes(field) ?? false;
  const escapeIfStated = (value: string | null): string | null =>
    value === null || value === "" ? null : escapeHtml(value);
  return [
    `<section class="change"><h2>${formatCode(change.change_id)}</h2>`,
    formatFacts([
      ["Summary", erased ? null : escapeHtml(change.summary)],
      ["Status", `${change.status}${change.resolution ? ` (${change.resolution})` : ""}`],
      ["Tenant", escapeHtml(change.tenant_id)],
      ["Target", formatCode(change.target)],
      [
        "Kind, tier, risk",
        `${change.kind.replaceAll("_", " ")}, ${change.tier}, ${isUnstated("risk") ? "risk not stated" : change.risk}`,
      ],
      ["Sets", change.sets_nothing ? "nothing: it has no value" : null],
      ["Applies", describeAutomation(change)?.replace(/^applies /, "") ?? null],
      [
        "Reach",
        change.affected_users === null
          ? null
          : `${change.affected_users} ${change.affected_users === 1 ? "person" : "people"}`,
      ],
      ["Can be undone", isUnstated("reversible") ? "not stated" : formatYesNo(change.reversible)],
      ["Rationale", erased ? null : escapeIfStated(change.rationale)],
      ["Proposer", escapeIfStated(change.proposer)],
      ["Asked for by", escapeIfStated(change.asked_by ?? null)],
      ["Proposed", formatTime(change.created_at)],
      ["Decided", change.decided_at && formatTime(change.decided_at)],
      ["Applied", change.applied_at && formatTime(change.applied_at)],
      ["Rolled back", change.rolled_back_at && formatTime(change.rolled_back_at)],
    ]),
    erased
      ? `<h3>Content</h3><p>It was erased on ${formatTime(erased.at)}, by entry ${erased.entry}. What is left of it, with the digest ${formatCode(erased.digest)}:</p>`
      : `<h3>Content</h3><p>What was consented to, to the byte; its SHA-256 is the digest ${formatCode(change.digest)}.</p>`,
    `<pre>${escapeHtml(canonicalContent(change))}</pre>`,
    `<h3>What happened</h3><table><thead>${formatHeadings(["Entry", "When", "What", "By, and how that is known", "Note"])}</thead><tbody>`,
    ...entries.map(formatChangeEntry),
    `</tbody></table><h3>Hashes of these entries</h3><table><thead>${formatHeadings(["Entry", "current_hash"])}</thead><tbody>`,
    ...entries.map(({ id, current_hash }) => formatRow([String(id), formatCode(current_hash)])),
    "</tbody></table></section>",
  ].join("\n");
}

const formatYesNo = (value: boolean): string => (value ? "yes" : "no");

type EntryFacts = Readonly<Record<string, unknown>>;
const parseFacts = ({ detail }: AuditEntry): EntryFacts => parseDetail(detail) as EntryFacts;
const escapeText = (value: unknown): string => (typeof value === "string" ? escapeHtml(value) : "");

/** Finds the name of the person or agent behind an entry. */
const findActorName = (facts: EntryFacts): string =>
  escapeText(facts["approver"]) || escapeText(facts["actor"]) || escapeText(facts["proposer"]);

const describeEntry = (entry: AuditEntry): string => escapeHtml(joinParts(capitalize(describe(entry).event)));

const AUTHENTICATION_TEXTS: Readonly<Record<string, string>> = {
  signature: "signed, presence verified",
  signature_unattended: "signed by a key that signs by itself",
  proxy: "named by the trusted proxy",
  jwt: "named by the proxy's signed token",
  agent: "an agent, by its secret",
  token: "said by a holder of the admin token",
  claimed: "taken at its word",
};

function formatChangeEntry(entry: AuditEntry): string {
  const facts = parseFacts(entry);
  const authentication = AUTHENTICATION_TEXTS[String(facts["authenticated"])];
  const key = typeof facts["key"] === "string" ? `<br>${formatCode(facts["key"])}` : "";
  const actor = findActorName(facts);
  return formatRow([
    String(entry.id),
    formatTime(entry.timestamp),
    describeEntry(entry),
    `${actor || "nobody is named"}${authentication && actor ? `<br><span class="quiet">${authentication}</span>` : ""}${key}`,
    escapeText(facts["note"]) || escapeText(facts["error"]),
  ]);
}

function formatEntry(entry: AuditEntry): string {
  const facts = parseFacts(entry);
  const change = entry.change_id === "" ? "" : formatCode(entry.change_id);
  return formatRow([String(entry.id), formatTime(entry.timestamp), describeEntry(entry), change, findActorName(facts)]);
}

/** Yields each intent that decisions were made under, once. */
async function* formatIntents({ store }: PageDeps, scope: Scope): AsyncGenerator<string, undefined> {
  const yielded = new Set<string>();
  for await (const page of readScopeEntries(store, scope))
    for (const hash of listIntents(page)) {
      if (yielded.has(hash)) continue;
      yielded.add(hash);
      const text = (await store.get("manifests", hash))?.value;
      const manifest = text === undefined ? "It is not in the store." : JSON.stringify(JSON.parse(text), null, 2);
      yield `<h3>${formatCode(hash)}</h3><pre>${escapeHtml(manifest)}</pre>`;
    }
  return undefined;
}
