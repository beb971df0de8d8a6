/** A long list of rows of one height, of which only those in sight are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const BEYOND = 8;

/** What is in sight of a list: the first row and the one after the last. */
interface Sight {
  from: number;
  to: number;
}

/** Draws the rows in sight and a few beyond; `onEnd` asks for more when the end comes near, anew with every `page`. */
export function VirtualList<T>({
  items,
  rowHeight,
  keyOf,
  row,
  label,
  total,
  page,
  onEnd,
}: {
  items: readonly T[];
  /** Pixels. */
  rowHeight: number;
  keyOf: (item: T) => string;
  row: (item: T) => ComponentChildren;
  label: string;
  total: number;
  /** How far was read: a page may bring no rows. */
  page: string | null;
  onEnd: () => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  const [{ from, to }, setSight] = useState<Sight>({ from: 0, to: 30 });

  const look = () => {
    const top = list.current?.getBoundingClientRect().top ?? 0;
    const first = Math.max(0, Math.floor(-top / rowHeight) - BEYOND);
    const after = Math.min(items.length, Math.ceil((innerHeight - top) / rowHeight) + BEYOND);
    setSight((seen) => (seen.from === first && seen.to === after ? seen : { from: first, to: after }));
    if (after >= items.length - BEYOND) onEnd();
  };
  const latest = useRef(look);
  latest.current = look;

  useLayoutEffect(() => latest.current(), [items.length, rowHeight, page]);
  useEffect(() => {
    let asked = 0;
    const ask = () => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        latest.current();
      });
    };
    addEventListener("scroll", ask, { passive: true });
    addEventListener("resize", ask);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", ask);
      removeEventListener("resize", ask);
    };
  }, []);

  return (
    <ul ref={list} class="virtual" aria-label={label} style={{ height: items.length * rowHeight }}>
      {items.slice(from, to).map((item, index) => (
        <li
          key={keyOf(item)}
          aria-setsize={total}
          aria-posinset={from + index + 1}
          style={{ height: rowHeight, transform: `translateY(${(from + index) * rowHeight}px)` }}
        >
          {row(item)}
        </li>
      ))}
    </ul>
  );
}
