import { useState } from "preact/hooks";
import type { EvolvedFile } from "../../core/api_types.ts";
import { get, getText } from "../../core/api.ts";
import { brief, bytes } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure, Pending } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Code, Given } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

const SHOWN = 12;

/** The retrospectives and weekly reports of the service, as text. */
export function Reports() {
  const [all, setAll] = useState(false);
  const [opened, open] = useState<EvolvedFile | undefined>();
  const { data, error } = useResource("evolved", (signal) => get<{ files: EvolvedFile[] }>("api/evolved", {}, signal));
  return (
    <Panel title="Reports">
      {!data && <Pending error={error} what="reports" />}
      {data && data.files.length === 0 && <p class="quiet">None yet. A closed change leaves a retrospective.</p>}
      <ul class="plain files">
        {data?.files.slice(0, all ? undefined : SHOWN).map((file) => (
          <li key={file.name}>
            <button type="button" class="link" onClick={() => open(file)}>
              <Given text={file.name} />
            </button>
            <span class="quiet">
              {file.kind}, {bytes(file.bytes)}, <Age at={file.modified_at} />
            </span>
          </li>
        ))}
      </ul>
      {data && !all && data.files.length > SHOWN && (
        <button type="button" class="secondary small" onClick={() => setAll(true)}>
          Show all {data.files.length}
        </button>
      )}
      {opened && <FileDialog file={opened} onClose={() => open(undefined)} />}
    </Panel>
  );
}

function FileDialog({ file, onClose }: { file: EvolvedFile; onClose: () => void }) {
  const read = (signal: AbortSignal) => getText(`api/evolved/${encodeURIComponent(file.name)}`, {}, signal);
  const { data, error } = useResource(`evolved ${file.name} ${file.sha256}`, read, { concerns: () => false });
  return (
    <Dialog title={file.name} onClose={onClose} wide>
      {data === undefined ? <Failure error={error} /> : <Code label={file.name}>{data}</Code>}
      <p class="quiet">
        SHA-256 <code title={file.sha256}>{brief(file.sha256)}</code>
      </p>
      <footer>
        <button type="button" class="secondary" data-first onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
