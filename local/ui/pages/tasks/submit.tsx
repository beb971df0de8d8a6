import { useState } from "preact/hooks";
import { post } from "../../core/api.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Choice, Line, Lines } from "../../parts/field.tsx";
import { Failure } from "../../parts/notice.tsx";
import { DialogEnd, useSending } from "../../parts/sending.tsx";

/** A task on its way; its first words may come with the address, for example from a suggestion in the chat. */
export function SubmitDialog({
  from,
  onClose,
  onDone,
}: {
  from: URLSearchParams;
  onClose: () => void;
  onDone: () => void;
}) {
  const given = (name: string): string => from.get(name) ?? "";
  const [task, setTask] = useState({
    title: given("title"),
    description: given("description"),
    required_dimension: given("required_dimension"),
    priority: given("priority") || "normal",
  });
  const { send, busy, error, faultOf } = useSending(() => post("api/tasks", task), onDone);
  return (
    <Dialog title="Submit a task" onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        <Line
          label="Title"
          value={task.title}
          onValue={(title) => setTask({ ...task, title })}
          maxLength={200}
          error={faultOf("title")}
          required
          first
        />
        <Lines
          label="Description"
          rows={4}
          value={task.description}
          onValue={(description) => setTask({ ...task, description })}
          maxLength={8000}
          error={faultOf("description")}
        />
        <div class="grid">
          <Choice
            label="About"
            value={task.required_dimension}
            onValue={(required_dimension) => setTask({ ...task, required_dimension })}
            options={[
              ["", "anything"],
              ["E", "effect: what moved"],
              ["M", "memory: what is missing"],
              ["R", "reliability: what failed"],
              ["N", "need: what is overdue"],
            ]}
          />
          <Choice
            label="Priority"
            value={task.priority}
            onValue={(priority) => setTask({ ...task, priority })}
            options={[
              ["low", "low"],
              ["normal", "normal"],
              ["high", "high"],
              ["urgent", "urgent"],
            ]}
          />
        </div>
        <Failure error={error} alert />
        <DialogEnd verb="Submit" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
