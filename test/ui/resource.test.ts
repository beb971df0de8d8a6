/** Data of a page are read again after a write, also while an older read is running. */
import { h, render } from "preact";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";

/** A read of the probe: `answer` ends it. */
interface Read {
  answer: (data: string) => void;
}

/** Renders a component that reads a resource and draws nothing, and waits for the first read. */
async function renderProbe(key: string) {
  const { useResource } = await import("../../local/ui/core/resource.tsx");
  const reads: Read[] = [];
  const read = () => new Promise<string>((answer) => reads.push({ answer }));
  const shown: { resource?: ReturnType<typeof useResource<string>> } = {};
  const Probe = () => {
    shown.resource = useResource(key, read);
    return null;
  };
  // The part of an element that Preact uses while nothing is drawn.
  const root = { childNodes: [], firstChild: null } as unknown as Element;
  render(h(Probe, {}), root);
  onTestFinished(() => render(null, root));
  await vi.waitUntil(() => reads.length === 1);
  return { reads, shown };
}

beforeAll(() => {
  // The modules of the console start timers, and Preact compares its root with the document.
  vi.useFakeTimers();
  vi.stubGlobal("document", {});
  return () => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  };
});

// Data behind an open dialog are replaced by a reload only, not by an event.
test.each<[title: string, dialogs: number]>([
  ["a page", 0],
  ["an open dialog", 1],
])("a reload of %s during a read reads again, and ends with the new data", async (title, dialogs) => {
  const { openDialogs } = await import("../../local/ui/core/hooks.tsx");
  openDialogs.set(dialogs);
  onTestFinished(() => openDialogs.set(0));
  const { reads, shown } = await renderProbe(title);
  let isReloaded = false;
  const reloaded = shown.resource!.reload().then(() => (isReloaded = true));
  reads[0]!.answer("before the write");
  await vi.waitUntil(() => shown.resource!.data === "before the write");
  expect([isReloaded, reads.length]).toEqual([false, 2]);
  reads[1]!.answer("after the write");
  await reloaded;
  expect([shown.resource!.data, reads.length]).toEqual(["after the write", 2]);
});

test("each of two reloads reads after it was called", async () => {
  const { reads, shown } = await renderProbe("two reloads");
  reads[0]!.answer("before the writes");
  await vi.waitUntil(() => shown.resource!.data !== undefined);
  const first = shown.resource!.reload();
  const second = shown.resource!.reload();
  reads[1]!.answer("between the writes");
  await first;
  await vi.waitUntil(() => reads.length === 3);
  reads[2]!.answer("after the writes");
  await second;
  expect(shown.resource!.data).toBe("after the writes");
});
