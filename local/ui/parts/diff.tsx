/** Differences between two values: the members that differ, then the lines; or the lines of a patch. */
import { Button } from "./button.tsx";
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumber, formatJson } from "../core/format.ts";
import { type ChangedPath, listChangedPaths } from "../domain/changed_paths.ts";
import type { TargetValue } from "../domain/plan.ts";
import { type Block, diffLines, type DiffLine, foldUnchanged, isPatch, patchLines } from "../domain/text_diff.ts";
import { CodeLine } from "./text.tsx";

const SIGN = { same: " ", before: "−", after: "+" } as const;
const SPOKEN_SIGN = { same: "", before: "removed: ", after: "added: " } as const;

/** More lines are shown on request: a page with thousands of lines takes seconds to open. */
const MAX_LINES = 400;
const MAX_PATHS = 12;

/** Two texts: the members that differ, then all lines with unchanged ones folded; `undefined` is no text. */
function Diff({ before, after, label }: { before: string | undefined; after: string | undefined; label: string }) {
  // The page is drawn again after each event; the comparison is made once.
  const { lines, paths } = useMemo(
    () => ({
      lines: diffLines(before ?? "", after ?? ""),
      paths: before !== undefined && after !== undefined ? listChangedPaths(before, after) : undefined,
    }),
    [before, after],
  );
  if (lines.every(({ side }) => side === "same")) return <p class="quiet">Nothing differs.</p>;
  return (
    <>
      {paths && <Paths of={paths} />}
      <Lines lines={lines} label={label} />
    </>
  );
}

export function ValueDiff({ before, after, label }: { before: TargetValue; after: TargetValue; label: string }) {
  const text = (side: TargetValue) => (side?.value === undefined ? undefined : formatJson(side.value));
  if (isPatch(after?.value)) return <Patch text={after.value.patch} label={label} />;
  return <Diff before={text(before)} after={text(after)} label={label} />;
}

const Patch = ({ text, label }: { text: string; label: string }) => <Lines lines={patchLines(text)} label={label} />;

/** The first members that differ, by path; an empty path is the complete value. */
function Paths({ of }: { of: readonly ChangedPath[] }) {
  return (
    <>
      <p>
        <strong>{formatCount(of.length, "value")}</strong> {of.length === 1 ? "changes" : "change"}:
      </p>
      <ul class="changed-paths">
        {of.slice(0, MAX_PATHS).map(({ path, before, after }) => (
          <li key={path}>
            <CodeLine text={path || "the value"} /> <PathValue of={before} tag="del" /> →{" "}
            <PathValue of={after} tag="ins" />
          </li>
        ))}
        {of.length > MAX_PATHS && <li>and {formatNumber(of.length - MAX_PATHS)} more, below</li>}
      </ul>
    </>
  );
}

const PathValue = ({ of, tag: Tag }: { of: string | undefined; tag: "del" | "ins" }) =>
  of === undefined ? (
    <span class="quiet">nothing</span>
  ) : (
    <Tag>
      <CodeLine text={of} />
    </Tag>
  );

function Lines({ lines, label }: { lines: readonly DiffLine[]; label: string }) {
  const [showsAll, setShowsAll] = useState(false);
  const count = (side: DiffLine["side"]): number => lines.filter((line) => line.side === side).length;
  const blocks = foldUnchanged(showsAll ? lines : lines.slice(0, countShownLines(lines)));
  const hiddenCount = lines.length - blocks.reduce((sum, block) => sum + block.lines.length, 0);
  return (
    <>
      <p class="quiet">
        {formatCount(count("after"), "line")} added, {formatNumber(count("before"))} removed
      </p>
      <div class="diff" role="region" aria-label={label}>
        {blocks.map((block, index) =>
          block.folded ? <Gap key={index} block={block} /> : <DiffLines key={index} of={block.lines} />,
        )}
        {hiddenCount > 0 && (
          <Button
            class="gap"
            onClick={() => setShowsAll(true)}
            label={`Show ${formatCount(hiddenCount, "more line")}`}
          />
        )}
      </div>
    </>
  );
}

/** Returns the number of lines that are shown at first; unchanged lines do not count towards the limit. */
function countShownLines(lines: readonly DiffLine[]): number {
  let changed = 0;
  const end = lines.findIndex(({ side }) => {
    if (side !== "same") changed++;
    return changed > MAX_LINES;
  });
  return end === -1 ? lines.length : end;
}

/** Unchanged lines, folded until the reader opens them. */
function Gap({ block: { lines } }: { block: Block }) {
  const [open, setOpen] = useState(false);
  if (open) return <DiffLines of={lines} />;
  return (
    <Button class="gap" onClick={() => setOpen(true)} label={`Show ${formatCount(lines.length, "unchanged line")}`} />
  );
}

const DiffLines = ({ of }: { of: readonly DiffLine[] }) => (
  <>
    {of.map((line, index) => (
      <Line key={index} line={line} />
    ))}
  </>
);

const Line = ({ line: { side, text, changed } }: { line: DiffLine }) => {
  const content = <CodeLine text={text} marked={changed} />;
  return (
    <div class={`line ${side}`}>
      <span class="gutter" aria-hidden="true">
        {SIGN[side]}
      </span>
      <span class="unseen">{SPOKEN_SIGN[side]}</span>
      {side === "before" ? <del>{content}</del> : side === "after" ? <ins>{content}</ins> : content}
    </div>
  );
};
