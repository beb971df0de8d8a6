/**
 * The little SVG that reports are drawn in: still pictures of shapes and text, with nothing that runs and nothing from
 * elsewhere. Each carries its own ground and colours for light and dark, so that it can be read wherever it is shown.
 */
import { escapeHtml } from "../../kit/escape_html.ts";
import { oneLine, shorten } from "../../kit/quote.ts";

/** What a shape or a text says by its colour; nothing is said by colour alone. */
export type Tone = "text" | "muted" | "line" | "accent" | "good" | "bad";

const LIGHT: Readonly<Record<Tone | "ground", string>> = {
  ground: "#ffffff",
  text: "#1c222b",
  muted: "#586170",
  line: "#c9cdd3",
  accent: "#3451b2",
  good: "#1b6b3f",
  bad: "#b02a1e",
};
const DARK: typeof LIGHT = {
  ground: "#1a1e25",
  text: "#e4e7ec",
  muted: "#a2abb9",
  line: "#4a5361",
  accent: "#9fb3ff",
  good: "#83d3a3",
  bad: "#ff9f95",
};

const LONGEST = 90;
/** Characters that no XML document may hold. */
const NO_XML = /[\uFFFE\uFFFF]/g;

/** Text as it may stand in a picture: on one line, cut to `most` characters, and forming no markup. */
export const shown = (text: string, most = LONGEST): string =>
  escapeHtml(shorten(oneLine(text), most)).replace(NO_XML, "\ufffd");

type Attributes = Readonly<Record<string, string | number | undefined>>;

const attributes = (of: Attributes): string =>
  Object.entries(of)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [` ${name}="${typeof value === "number" ? fixed(value) : value}"`],
    )
    .join("");

/** A length in a picture: tenths are enough. */
export const fixed = (length: number): string => String(Math.round(length * 10) / 10);

/** A line of text; `of` names the change whose content it quotes, so that an erasure finds it. */
export const text = (
  { x, y }: { x: number; y: number },
  content: string,
  { tone = "text", anchor, of, size }: { tone?: Tone; anchor?: "middle" | "end"; of?: string; size?: number } = {},
): string =>
  `<text${attributes({ x, y, class: tone, fill: LIGHT[tone], "text-anchor": anchor, "font-size": size, "data-change": of && shown(of, 200) })}>${shown(content)}</text>`;

/** A line of a picture, with other words where its text is about a change. */
export const reworded = (line: string, of: string, words: string): string =>
  line.includes(` data-change="${shown(of, 200)}"`) ? line.replace(/>[^<]*</, () => `>${shown(words)}<`) : line;

/** A drawn line. */
export const path = (d: string, tone: Tone, { width = 1.5, dash }: { width?: number; dash?: string } = {}): string =>
  `<path${attributes({ d, class: `stroke ${tone}`, stroke: LIGHT[tone], "stroke-width": width, "stroke-dasharray": dash, fill: "none" })}/>`;

/** A filled shape. */
export const shape = (d: string, tone: Tone): string => `<path${attributes({ d, class: tone, fill: LIGHT[tone] })}/>`;

/** A point, whose figure shows where it is pointed at. */
export const point = ({ x, y }: { x: number; y: number }, tone: Tone, title: string): string =>
  `<circle${attributes({ cx: x, cy: y, r: 2.5, class: tone, fill: LIGHT[tone] })}><title>${shown(title)}</title></circle>`;

const rulesOf = (colours: typeof LIGHT): string =>
  Object.entries(colours)
    .map(([tone, colour]) => `.${tone}{fill:${colour}}.stroke.${tone}{fill:none;stroke:${colour}}`)
    .join("");

/** A whole picture, a shape or a text on each of its lines. */
export const picture = (
  { width, height, title, description }: { width: number; height: number; title: string; description: string },
  parts: readonly string[],
): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${fixed(height)}" width="${width}" height="${fixed(height)}" role="img" aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="12">`,
    `<title id="title">${shown(title)}</title>`,
    `<desc id="description">${shown(description, 1000)}</desc>`,
    `<style>${rulesOf(LIGHT)}@media (prefers-color-scheme: dark){${rulesOf(DARK)}}</style>`,
    `<path class="ground" fill="${LIGHT.ground}" d="M0 0H${width}V${fixed(height)}H0Z"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
