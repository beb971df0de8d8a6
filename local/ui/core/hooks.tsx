/** Hooks over values, the clock and the keyboard. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getServiceTime } from "./api.ts";
import { type Value, createValue } from "./value.ts";

/** Returns a value's content, and draws the component again when it changes. */
export function useValue<T>(source: Value<T>): T {
  const [, draw] = useState({});
  useLayoutEffect(() => source.subscribe(() => draw({})), [source]);
  return source.get();
}

const ticks = createValue(0);
setInterval(() => ticks.set(ticks.get() + 1), 15_000);

/** Returns the service's time in milliseconds, updated every 15 seconds; the device's clock may be wrong. */
export function useNow(): number {
  useValue(ticks);
  return getServiceTime();
}

/** Milliseconds without typing before a request is sent. */
const TYPING_PAUSE_MS = 200;

/** Returns the typed text, once the typing pauses. */
export function useDebounced(typed: string): string {
  const [debounced, setDebounced] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(typed), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return debounced;
}

/** Number of open dialogs; content behind a dialog is not replaced. */
export const openDialogs = createValue(0);

/** A single key with its action on this page. */
export interface KeyAction {
  key: string;
  label: string;
  run: () => void;
}

export const pageKeys = createValue<readonly KeyAction[]>([]);

/** Registers keys while the page is shown. */
export function usePageKeys(keys: readonly KeyAction[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  const names = keys.map(({ key, label }) => `${key} ${label}`).join("\n");
  useEffect(() => {
    pageKeys.set(
      latest.current.map(({ key, label }) => ({
        key,
        label,
        run: () => latest.current.find((action) => action.key === key)?.run(),
      })),
    );
    return () => pageKeys.set([]);
  }, [names]);
}

/** True once the reader has left the first page. */
let hasNavigated = false;

/** Moves the focus to the heading of a new page; a heading that is drawn later takes the focus by `useHeadingFocus`. */
export function focusPage(): void {
  hasNavigated = true;
  const heading = document.querySelector<HTMLElement>("h1");
  if (heading) heading.focus({ preventScroll: true });
  else (document.activeElement as HTMLElement | null)?.blur();
}

/** Focuses a heading that appears after a navigation while nothing has the focus. */
export function useHeadingFocus(): { ref: (heading: HTMLElement | null) => void } {
  const heading = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    if (hasNavigated && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return { ref: (element) => void (heading.current = element) };
}

const pageTitle = createValue("");
/** Number of changes that wait for the reader, or for anybody if the reader has no name. */
export const waitingCount = createValue(0);
for (const value of [pageTitle, waitingCount])
  value.subscribe(() => {
    const count = waitingCount.get() === 0 ? "" : `(${waitingCount.get()}) `;
    const title = pageTitle.get() === "" ? "" : `${pageTitle.get()} · `;
    document.title = `${count}${title}Countersign`;
  });

export function useTitle(title: string): void {
  useEffect(() => pageTitle.set(title), [title]);
}

/** Sets the count in the window title; undefined leaves it as it is. */
export function useWaitingCount(count: number | undefined): void {
  useEffect(() => {
    if (count !== undefined) waitingCount.set(count);
  }, [count]);
}
