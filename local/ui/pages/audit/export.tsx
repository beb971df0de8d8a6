import { useEffect, useRef, useState } from "preact/hooks";
import { address, getStream, opensReads } from "../../core/api.ts";
import { bytes, counted, figure } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { save } from "../../core/save.ts";
import { Failure, Notice } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Progress } from "../../parts/progress.tsx";

const LINE_BREAK = 10;

/** Takes the whole log along, one entry a line, as `countersign-verify` reads it. */
export function Export({ length }: { length: number }) {
  const [done, setDone] = useState<{ entries: number; size: number } | undefined>();
  const [saved, setSaved] = useState<{ entries: number; size: number } | undefined>();
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>();
  // A link carries no token.
  const { data: isOpen } = useResource("open reads", (signal) => opensReads({}, signal), { concerns: () => false });
  useEffect(() => () => running.current?.abort(), []);

  const take = async () => {
    const { signal } = (running.current = new AbortController());
    setError(undefined);
    setSaved(undefined);
    let entries = 0;
    let size = 0;
    setDone({ entries, size });
    try {
      const response = await getStream("api/product/audit", { format: "jsonl" }, signal);
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      const reader = response.body!.getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        pieces.push(piece.value);
        size += piece.value.length;
        for (const byte of piece.value) if (byte === LINE_BREAK) entries++;
        setDone({ entries, size });
      }
      save(new Blob(pieces, { type: "application/x-ndjson" }), "audit.jsonl");
      setSaved({ entries, size });
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    }
    setDone(undefined);
  };
  return (
    <Panel title="Export">
      <p class="quiet">The whole log, one entry a line. It can be verified offline, without this service.</p>
      {done ? (
        <Progress
          label={`${figure(done.entries)} of ${figure(length)} entries, ${bytes(done.size)}`}
          value={done.entries}
          max={length}
          onCancel={() => running.current?.abort()}
        />
      ) : (
        <div class="buttons">
          <button type="button" class="secondary small" onClick={() => void take()}>
            Export {counted(length, "entry", "entries")}
          </button>
          {isOpen && (
            <a class="small-link" href={address("api/product/audit", { format: "jsonl" })} download="audit.jsonl">
              Straight to a file
            </a>
          )}
        </div>
      )}
      <Failure error={error} alert />
      {saved && (
        <Notice tone="good" alert>
          Saved {counted(saved.entries, "entry", "entries")}, {bytes(saved.size)}.
        </Notice>
      )}
    </Panel>
  );
}
