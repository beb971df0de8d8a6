import { useEffect, useRef, useState } from "preact/hooks";
import { getStream, type Query } from "../core/api.ts";
import { formatBytes } from "../core/format.ts";
import { Failure, Notice } from "./notice.tsx";

/** Saves an answer of the service as a file; a link would carry no token. */
export function Download(props: { label: string; path: string; query?: Query; name: string }) {
  const { label, path, query = {}, name } = props;
  const [size, setSize] = useState<number | undefined>();
  const [saved, setSaved] = useState("");
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>();
  useEffect(() => () => running.current?.abort(), []);
  const isBusy = size !== undefined;
  const download = async () => {
    if (isBusy) return running.current!.abort();
    running.current = new AbortController();
    const { signal } = running.current;
    setError(undefined);
    setSaved("");
    setSize(0);
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    try {
      const reader = (await getStream(path, query, signal)).body!.getReader();
      let read = 0;
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        chunks.push(chunk.value);
        read += chunk.value.length;
        setSize(read);
      }
      save(new Blob(chunks), name);
      setSaved(`Saved ${name}, ${formatBytes(read)}.`);
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    }
    setSize(undefined);
  };
  return (
    <div class="download">
      <button type="button" class="secondary small" aria-busy={isBusy} onClick={() => void download()}>
        {isBusy ? `Stop (${formatBytes(size)} so far)` : label}
      </button>
      <Failure error={error} alert />
      {saved && (
        <Notice tone="good" alert>
          {saved}
        </Notice>
      )}
    </div>
  );
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
