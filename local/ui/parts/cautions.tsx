import type { Part } from "../../../lib/wording/part.ts";
import { Notice } from "./notice.tsx";
import { Sentence } from "./text.tsx";

/** Facts to know before a decision, a sentence each. */
export const Cautions = ({ of }: { of: readonly Part[][] }) =>
  of.length === 0 ? null : (
    <Notice tone="warn">
      {of.map((sentence, index) => (
        <p key={index}>
          <Sentence parts={sentence} />
        </p>
      ))}
    </Notice>
  );
