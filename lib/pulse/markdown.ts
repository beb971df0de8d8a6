/** The little Markdown that reports are made of. What people wrote is shown as text and can form no markup. */

/** An id, a target or another short word, as it is. */
export const code = (text: string): string => `\`${flat(text).replaceAll("`", "'")}\``;

/** Prose that somebody wrote. */
export const quoted = (text: string): string => `“${flat(text).replace(/[\\`*_{}[\]<>#|]/g, "\\$&")}”`;

/** A figure between 0 and 1, or why there is none. */
export const share = (value: number | null): string => (value === null ? "no data" : value.toFixed(3));

/** A table; `undefined` instead of one without rows. */
export function table(head: readonly string[], rows: readonly (readonly unknown[])[]): string | undefined {
  if (rows.length === 0) return undefined;
  const line = (cells: readonly unknown[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** List items; `undefined` instead of an empty list. */
export const list = (items: readonly string[]): string | undefined =>
  items.length === 0 ? undefined : items.map((item) => `- ${item}`).join("\n");

/** Paragraphs, tables and lists one under the other; what is `undefined` is left out. */
export const page = (...blocks: readonly (string | undefined)[]): string =>
  `${blocks.filter((block) => block !== undefined).join("\n\n")}\n`;

const flat = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
