/** Texts of users, shown as plain text. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { shortenId, formatNumber, formatJson } from "../core/format.ts";
import type { Part } from "../../../lib/wording/part.ts";

/** Characters that are invisible or change the text direction; their code points are shown, so that they cannot deceive. */
// oxlint-disable-next-line no-misleading-character-class
const INVISIBLE = /([\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff])/u;

const codePointName = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

function showInvisible(text: string): ComponentChildren {
  if (!INVISIBLE.test(text)) return text;
  return text.split(INVISIBLE).map((part, index) =>
    index % 2 === 1 ? (
      <span key={index} class="invisible" title="An invisible character">
        {codePointName(part)}
      </span>
    ) : (
      part
    ),
  );
}

/** Text without spaces, such as an id, reads from left to right; a phrase has its own direction. */
const textDirection = (text: string, code: boolean): "ltr" | "auto" => (code || !/\s/u.test(text) ? "ltr" : "auto");

/** A name, an id or a line, isolated so that its text direction ends with it. */
export function UserText({ text, code = false }: { text: string; code?: boolean }) {
  const isolated = <bdi dir={textDirection(text, code)}>{showInvisible(text)}</bdi>;
  return code ? <code>{isolated}</code> : isolated;
}

/** A link whose text comes from a user. */
export const UserLink = ({ text, ...attributes }: { text: string; href: string; "data-row"?: boolean }) => (
  <a {...attributes}>
    <UserText text={text} />
  </a>
);

/** The strings of JSON text. */
const JSON_STRING = /("(?:[^"\\\n]|\\.)*")/u;

type Ranges = readonly (readonly [start: number, end: number])[];

/** A line of code, left to right; each string in it is isolated, so that a key stays before its value. */
export function CodeLine({ text, marked }: { text: string; marked?: Ranges | undefined }) {
  let end = 0;
  const parts = text.split(JSON_STRING).map((part, index) => {
    const start = end;
    end += part.length;
    const shown = marked ? highlightRanges(part, start, marked) : showInvisible(part);
    return index % 2 === 1 ? <bdi key={index}>{shown}</bdi> : shown;
  });
  return <code dir="ltr">{parts}</code>;
}

/** Marks the ranges of a line in a part of the line that begins at `start`. */
function highlightRanges(part: string, start: number, marked: Ranges): ComponentChildren {
  const shown: ComponentChildren[] = [];
  let at = 0;
  for (const [from, to] of marked) {
    const [first, last] = [Math.max(from - start, at), Math.min(to - start, part.length)];
    if (first >= last) continue;
    shown.push(showInvisible(part.slice(at, first)), <mark key={first}>{showInvisible(part.slice(first, last))}</mark>);
    at = last;
  }
  return [...shown, showInvisible(part.slice(at))];
}

/** A shortened id of a change, on one line. */
export const ShortId = ({ of }: { of: string }) => <span class="short-id">{shortenId(of)}</span>;

/** Maximum characters of a paragraph shown complete; a longer one is cut 100 earlier, so that its button shows a line at least. */
const MAX_SHOWN = 1200;

/** A paragraph of a user with its line breaks; a long one is cut until the reader asks for all. */
export function Prose({ text, empty = "Nothing was written." }: { text: string; empty?: string }) {
  const [showsAll, setShowsAll] = useState(false);
  if (text.trim() === "") return <p class="quiet">{empty}</p>;
  const cut = !showsAll && text.length > MAX_SHOWN;
  return (
    <>
      <p class="prose" dir="auto">
        {showInvisible(cut ? `${text.slice(0, MAX_SHOWN - 100).toWellFormed()}…` : text)}
      </p>
      {cut && (
        <button type="button" class="link" onClick={() => setShowsAll(true)}>
          Show all {formatNumber(text.length)} characters
        </button>
      )}
    </>
  );
}

/** A sentence with texts of users in it. */
export function Sentence({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map((part, index) => {
        if (typeof part === "string") return part;
        const isolated = <UserText key={index} text={part.text} code={part.code ?? false} />;
        return part.quoted ? <>“{isolated}”</> : isolated;
      })}
    </>
  );
}

export const SentenceLine = ({ parts, ...attributes }: { parts: readonly Part[]; class?: string }) => (
  <p {...attributes}>
    <Sentence parts={parts} />
  </p>
);

/** Sentences that contain texts of users, as a list. */
export const SentenceList = ({ of, label }: { of: readonly string[]; label: string }) => (
  <ul class="reasons" aria-label={label}>
    {of.map((sentence) => (
      <li key={sentence}>
        <UserText text={sentence} />
      </li>
    ))}
  </ul>
);

/** A block of JSON or other code. */
export function Code({ children, label }: { children: string; label: string }) {
  return (
    <pre tabIndex={0} role="region" aria-label={label}>
      <CodeLine text={children} />
    </pre>
  );
}

export const Json = ({ of, label }: { of: unknown; label: string }) => <Code label={label}>{formatJson(of)}</Code>;
