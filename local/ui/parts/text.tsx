/** Whatever somebody wrote, shown as text and nothing else. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { briefId, figure, pretty } from "../core/format.ts";
import type { Part } from "../../../lib/wording/part.ts";

/** Characters that turn the direction of what follows them, or hide in it: shown by name, so that nothing reads as what it is not. */
// oxlint-disable-next-line no-misleading-character-class
const TURNING = /([\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff])/u;

const nameOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

function visible(text: string): ComponentChildren {
  if (!TURNING.test(text)) return text;
  return text.split(TURNING).map((piece, index) =>
    index % 2 === 1 ? (
      <span key={index} class="invisible" title="An invisible character">
        {nameOf(piece)}
      </span>
    ) : (
      piece
    ),
  );
}

/** An id, an address or a target reads from left to right in every script; a phrase has its own direction. */
const directionOf = (text: string, code: boolean): "ltr" | "auto" => (code || !/\s/u.test(text) ? "ltr" : "auto");

/** A name, an id, a line: isolated, so that its direction ends with it. */
export function Given({ text, code = false }: { text: string; code?: boolean }) {
  const given = <bdi dir={directionOf(text, code)}>{visible(text)}</bdi>;
  return code ? <code>{given}</code> : given;
}

/** The strings of JSON text. */
const JSON_STRING = /("(?:[^"\\\n]|\\.)*")/u;

/** Starts and ends of marked text. */
type Marked = readonly (readonly [start: number, end: number])[];

/** A line that is read by its columns: each string in it is isolated, so that a key stays before its value. */
export function CodeLine({ text, marked }: { text: string; marked?: Marked | undefined }) {
  let end = 0;
  return (
    <bdi dir="ltr">
      {text.split(JSON_STRING).map((piece, index) => {
        const start = end;
        end += piece.length;
        const shown = marked ? withMarks(piece, start, marked) : visible(piece);
        return index % 2 === 1 ? <bdi key={index}>{shown}</bdi> : shown;
      })}
    </bdi>
  );
}

/** Marks the parts of a piece of a line that begins at `start`. */
function withMarks(piece: string, start: number, marked: Marked): ComponentChildren {
  const shown: ComponentChildren[] = [];
  let at = 0;
  for (const [from, to] of marked) {
    const [first, last] = [Math.max(from - start, at), Math.min(to - start, piece.length)];
    if (first >= last) continue;
    shown.push(visible(piece.slice(at, first)), <mark key={first}>{visible(piece.slice(first, last))}</mark>);
    at = last;
  }
  return [...shown, visible(piece.slice(at))];
}

/** The last part of a change's id, on one line. */
export const ShortId = ({ of }: { of: string }) => <span class="short-id">{briefId(of)}</span>;

const LONG = 1200;

/** A paragraph that somebody wrote, with its line breaks; a long one is cut until it is asked for. */
export function Prose({ text, empty = "Nothing was written." }: { text: string; empty?: string }) {
  const [whole, setWhole] = useState(false);
  if (text.trim() === "") return <p class="quiet">{empty}</p>;
  const cut = !whole && text.length > LONG;
  return (
    <>
      <p class="prose" dir="auto">
        {visible(cut ? `${text.slice(0, LONG - 100).toWellFormed()}…` : text)}
      </p>
      {cut && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          Show all {figure(text.length)} characters
        </button>
      )}
    </>
  );
}

/** A sentence made of our words and theirs. */
export function Sentence({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map((part, index) => {
        if (typeof part === "string") return part;
        const given = <Given key={index} text={part.given} code={part.code ?? false} />;
        return part.quoted ? <>“{given}”</> : given;
      })}
    </>
  );
}

/** JSON, or any text that is read by its columns. */
export function Code({ children, label }: { children: string; label: string }) {
  return (
    <pre tabIndex={0} role="region" aria-label={label}>
      <code dir="ltr">
        <CodeLine text={children} />
      </code>
    </pre>
  );
}

/** A value as JSON. */
export const Json = ({ of, label }: { of: unknown; label: string }) => <Code label={label}>{pretty(of)}</Code>;
