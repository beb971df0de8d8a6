import { useState } from "preact/hooks";
import type { Task } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Lines } from "../../parts/field.tsx";
import { Failure } from "../../parts/notice.tsx";
import { DialogEnd, useSending } from "../../parts/sending.tsx";
import { Given } from "../../parts/text.tsx";

const STARS: readonly (readonly [number, string])[] = [
  [1, "useless"],
  [2, "poor"],
  [3, "fair"],
  [4, "good"],
  [5, "excellent"],
];

/** Rates by mouse, or with the keys 1 to 5 and Enter. */
export function RateDialog({ task, onClose, onDone }: { task: Task; onClose: () => void; onDone: () => void }) {
  const rater = useValue(personName);
  const [rating, setRating] = useState(0);
  const [comment, setComment] = useState("");
  const fields = { task_id: task.task_id, rating: String(rating), comment, rater: rater || undefined };
  const { send, busy, error } = useSending(() => post("api/task/feedback", fields), onDone);
  const onKey = ({ key, target, currentTarget }: KeyboardEvent) => {
    if (target instanceof HTMLTextAreaElement || !/^[1-5]$/.test(key)) return;
    setRating(Number(key));
    (currentTarget as HTMLElement).querySelector<HTMLElement>(`input[value="${key}"]`)?.focus();
  };
  return (
    <Dialog title="How good was it?" onClose={onClose} busy={busy}>
      <form onSubmit={send} onKeyDown={onKey}>
        <p class="lead">
          <Given text={task.title} />
        </p>
        <fieldset class="stars">
          <legend>
            Rating <small class="quiet">press 1 to 5, then Enter</small>
          </legend>
          {STARS.map(([stars, word]) => (
            <label key={stars}>
              <input
                type="radio"
                name="rating"
                value={stars}
                checked={rating === stars}
                data-first={stars === 1}
                required
                onChange={() => setRating(stars)}
              />
              {stars} {word}
            </label>
          ))}
        </fieldset>
        <Lines label="Comment" rows={3} value={comment} onValue={setComment} maxLength={4000} />
        <Failure error={error} alert />
        <DialogEnd verb="Rate" busy={busy} onClose={onClose} disabled={rating === 0} />
      </form>
    </Dialog>
  );
}
