/** HTML elements of the page that describes the API, at `/docs`. */
import { escapeHtml } from "../kit/escape_html.ts";

/** Returns the anchor of a name on the page. */
export const anchorId = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** A link to the anchor of a name. */
export const link = (name: string, text = name): string => `<a href="#${anchorId(name)}">${escapeHtml(text)}</a>`;

/** Returns the anchor of a shape, which differs from that of a group of operations with the same name. */
export const shapeId = (name: string): string => `shape-${anchorId(name)}`;

/** A link to a shape. */
export const shapeLink = (name: string): string => link(shapeId(name), name);

export const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** A row; its cells are HTML. */
export const row = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;

/** A table; its heads and rows are HTML. */
export const table = (heads: readonly string[], rows: readonly string[]): string =>
  `<table><thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
