/** Hooks over values, the clock and the keyboard. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getServiceTime } from "./api.ts";
import { type Value, createValue } from "./value.ts";

/** A value's content; the component is drawn again when it is replaced. */
export function useValue<T>(source: Value<T>): T {
  const [, draw] = useState({});
  useLayoutEffect(() => source.subscribe(() => draw({})), [source]);
  return source.get();
}

const ticks = createValue(0);
setInterval(() => ticks.set(ticks.get() + 1), 15_000);

/** Returns the service's time in milliseconds, again every few seconds: the device's clock may be wrong. */
export function useNow(): number {
  useValue(ticks);
  return getServiceTime();
}

/** Milliseconds that typing rests before anybody is asked. */
const TYPING_PAUSE_MS = 200;

/** Returns the typed text, once the typing pauses. */
export function useDebounced(typed: string): string {
  const [debounced, rest] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => rest(typed), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return debounced;
}

/** How many dialogs are open: nothing behind one is replaced. */
export const openDialogs = createValue(0);

/** A key that opens something on this page, and what it opens. */
export interface KeyAction {
  key: string;
  label: string;
  run: () => void;
}

/** The keys of the page that is shown. */
export const pageKeys = createValue<readonly KeyAction[]>([]);

/** Gives the page its keys for as long as it is shown. */
export function usePageKeys(keys: readonly KeyAction[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  const names = keys.map(({ key, label }) => `${key} ${label}`).join("\n");
  useEffect(() => {
    pageKeys.set(
      latest.current.map(({ key, label }) => ({
        key,
        label,
        run: () => latest.current.find((one) => one.key === key)?.run(),
      })),
    );
    return () => pageKeys.set([]);
  }, [names]);
}

/** True if the reader has gone from one page to another since the console was loaded. */
let hasNavigated = false;

/** Takes the focus to the page that is gone to; its heading may come later. */
export function focusPage(): void {
  hasNavigated = true;
  const heading = document.querySelector<HTMLElement>("h1");
  if (heading) heading.focus({ preventScroll: true });
  else (document.activeElement as HTMLElement | null)?.blur();
}

/** A heading that takes the focus when it appears and nothing has it. */
export function useHeadingFocus(): { ref: (heading: HTMLElement | null) => void } {
  const heading = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    if (hasNavigated && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return { ref: (element) => void (heading.current = element) };
}

const pageTitle = createValue("");
/** Changes that wait for the reader; for anybody where no name is given. */
export const waitingCount = createValue(0);
for (const part of [pageTitle, waitingCount])
  part.subscribe(() => {
    const count = waitingCount.get() === 0 ? "" : `(${waitingCount.get()}) `;
    const title = pageTitle.get() === "" ? "" : `${pageTitle.get()} · `;
    document.title = `${count}${title}Countersign`;
  });

/** Names the page in the window's title. */
export function useTitle(title: string): void {
  useEffect(() => pageTitle.set(title), [title]);
}

/** Says in the window's title how many changes wait; undefined: it is not known here. */
export function useWaitingCount(count: number | undefined): void {
  useEffect(() => {
    if (count !== undefined) waitingCount.set(count);
  }, [count]);
}
