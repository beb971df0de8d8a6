import { diffLines, type DiffLine, patchLines } from "../domain/text_diff.ts";
import { CodeLine } from "./text.tsx";

const SIGN = { same: " ", before: "−", after: "+" } as const;
const SAID = { same: "", before: "removed: ", after: "added: " } as const;

/** Two texts and what differs between them; `undefined` is "not there". */
export function Diff({
  before,
  after,
  label,
}: {
  before: string | undefined;
  after: string | undefined;
  label: string;
}) {
  const lines = diffLines(before ?? "", after ?? "");
  if (lines.every(({ side }) => side === "same")) return <p class="quiet">Nothing differs.</p>;
  return (
    <div class="diff" role="region" aria-label={label} tabIndex={0}>
      {lines.map((line, index) => (
        <Line key={index} line={line} />
      ))}
    </div>
  );
}

/** A patch in the unified format, as it was given. */
export const Patch = ({ text, label }: { text: string; label: string }) => (
  <div class="diff" role="region" aria-label={label} tabIndex={0}>
    {patchLines(text).map((line, index) => (
      <Line key={index} line={line} />
    ))}
  </div>
);

const Line = ({ line: { side, text } }: { line: DiffLine }) => {
  const content = (
    <code dir="ltr">
      <CodeLine text={text} />
    </code>
  );
  return (
    <div class={`line ${side}`}>
      <span class="gutter" aria-hidden="true">
        {SIGN[side]}
      </span>
      <span class="unseen">{SAID[side]}</span>
      {side === "before" ? <del>{content}</del> : side === "after" ? <ins>{content}</ins> : content}
    </div>
  );
};
