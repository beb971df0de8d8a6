/** Parses a Markdown document: fenced blocks, headings, links and code spans, each with its line. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The root of the checkout; documents name files relative to it. */
export const ROOT = join(import.meta.dirname, "../..");

export interface Block {
  /** Number of the first line of code, from 1; of an included file, the first line of the comments that include it. */
  line: number;
  /** The text behind the fence: the language, and the kind of an example (`json intent`). */
  info: string;
  language: string;
  text: string;
  /** The HTML comments directly before the block. */
  marks: string[];
}

/** A text with its line. */
export interface TextAtLine {
  line: number;
  text: string;
}

export interface Document {
  /** Relative to the root. */
  path: string;
  blocks: Block[];
  /** Anchors of the headings. */
  anchors: Set<string>;
  /** The targets of links and images. */
  links: TextAtLine[];
  /** Texts in backticks. */
  spans: TextAtLine[];
  /** The lines outside of fences and comments. */
  prose: TextAtLine[];
}

const FENCE = /^( *)(`{3,}|~{3,})\s*([^`]*?)\s*$/;
const COMMENT = /<!--\s*([^]*?)\s*-->/g;
/** Matches a comment that includes a file, relative to the document, as a block: `code: ts, mounting/express.ts`. */
const CODE_FILE = /^code: (.+), (\S+)$/;

/** Reads the tested documents: the pages at the root, the manual, and the pages that the manual links to. */
export function documents(): Document[] {
  const paths = [
    ".",
    "docs",
    "docs/targets",
    "local/example",
    "examples/redis",
    "examples/shop",
    "examples/teams",
    "examples/telemetry",
    "lib/link",
    "test/crash",
  ].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  );
  return paths.map((path) => parseDocument(path, readFileSync(join(ROOT, path), "utf8")));
}

export function parseDocument(path: string, text: string): Document {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  const prose: TextAtLine[] = [];
  let marks: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const [, indent, fence, info] = FENCE.exec(line) ?? [];
    if (fence !== undefined) {
      const end = lines.findIndex((other, index) => index > at && other.trim() === fence);
      if (end < 0) throw new Error(`${path}:${at + 1}: this fence is not closed`);
      const code = lines
        .slice(at + 1, end)
        .map((codeLine) => (codeLine.startsWith(indent!) ? codeLine.slice(indent!.length) : codeLine));
      blocks.push({ line: at + 2, info: info!, language: info!.split(" ")[0]!, text: code.join("\n"), marks });
      at = end;
      marks = [];
    } else if (line.startsWith("<!--")) {
      const end = lines.findIndex((other, index) => index >= at && other.includes("-->"));
      const comments = lines.slice(at, end + 1).join("\n");
      for (const [, text] of comments.matchAll(COMMENT)) {
        const [, info, file] = CODE_FILE.exec(text!) ?? [];
        if (info === undefined) {
          marks.push(text!);
          continue;
        }
        const code = readFileSync(join(ROOT, dirname(path), file!), "utf8").replace(/\n$/, "");
        blocks.push({ line: at + 1, info, language: info.split(" ")[0]!, text: code, marks });
        marks = [];
      }
      at = end;
    } else {
      if (line.trim() !== "") marks = [];
      prose.push({ line: at + 1, text: line });
    }
  }
  const findInProse = (pattern: RegExp) =>
    prose.flatMap(({ line, text }) => [...text.matchAll(pattern)].map((match) => ({ line, text: match[1]! })));
  return {
    path,
    blocks,
    prose,
    anchors: listAnchors(findInProse(/^#{1,6} +(.*?)\s*#*$/g)),
    links: findInProse(/\]\(<?([^)\s>]+)>?\)/g),
    spans: findInProse(/`([^`]+)`/g),
  };
}

/** Returns GitHub's anchors: lower case, no punctuation, hyphens for spaces; a repeated anchor gets a number. */
function listAnchors(headings: TextAtLine[]): Set<string> {
  const anchors = new Set<string>();
  for (const { text } of headings) {
    const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    let name = slug;
    for (let repeat = 1; anchors.has(name); repeat++) name = `${slug}-${repeat}`;
    anchors.add(name);
  }
  return anchors;
}
