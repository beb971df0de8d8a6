/** Renders chat messages as an HTML fragment; all text is escaped. */
import { escapeHtml } from "../kit/escape_html.ts";
import type { Turn } from "../memory/history.ts";

/** Renders the author of a message; a model's reply is marked as unverified. */
function renderAuthor({ author, mode }: Turn): string {
  if (author !== null) return `<span>${escapeHtml(author)}</span> `;
  return mode === "llm" ? "<em>Worded by a language model, unverified</em> " : "";
}

/** Renders one message as a list item. */
export function renderMessage(turn: Turn): string {
  const { message_id, role, text, at, mode, citations = [] } = turn;
  const cited = citations.map(({ kind, id }) => `<cite data-kind="${escapeHtml(kind)}">${escapeHtml(id)}</cite>`);
  return [
    `<li id="${escapeHtml(message_id)}" data-role="${role}"${mode ? ` data-mode="${mode}"` : ""}>`,
    `<header>${renderAuthor(turn)}<time datetime="${escapeHtml(at)}">${escapeHtml(at)}</time></header>`,
    `<p>${escapeHtml(text)}</p>`,
    cited.length > 0 ? `<footer>${cited.join(" ")}</footer>` : "",
    "</li>",
  ].join("");
}

/** Renders messages as a list; `data-next` is the value of `before` with which older messages are requested. */
export const renderMessages = (turns: readonly Turn[], next: string | null): string =>
  `<ol role="log"${next === null ? "" : ` data-next="${escapeHtml(next)}"`}>${turns.map(renderMessage).join("")}</ol>`;

/** Creates a response with an HTML fragment; its headers forbid scripts. */
export const createHtmlResponse = (html: string): Response =>
  new Response(html, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      vary: "accept",
    },
  });
