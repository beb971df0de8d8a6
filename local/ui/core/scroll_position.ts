/** Scroll position and focused link of each page in the history, for Back and Forward. */

/** Maximum wait for content that is still being read. */
const WAIT_MS = 3000;

interface ScrollPosition {
  top: number;
  link: string | null;
}

const positions = new Map<number, ScrollPosition>();
let newest = 0;
let current = 0;
let returned = false;

const readPageNumber = (): number | undefined => (history.state as { page?: number } | null)?.page;

const enterPage = (): void => {
  const known = readPageNumber();
  returned = known !== undefined;
  if (known !== undefined) current = known;
  else {
    current = ++newest;
    history.replaceState({ page: current }, "");
  }
};

/** Starts to store positions; called once, before the first page is drawn. */
export function trackScrollPositions(): void {
  history.scrollRestoration = "manual";
  newest = readPageNumber() ?? 0;
  enterPage();
  const storePosition = () => {
    const link = document.activeElement?.closest("main a")?.getAttribute("href") ?? null;
    positions.set(current, { top: scrollY, link });
  };
  // The event comes before the new page is drawn: the position is that of the old one.
  addEventListener("popstate", () => {
    storePosition();
    enterPage();
  });
}

/** Scrolls to the position at which the reader left this page; returns false if they have not been on it. */
export function restoreScrollPosition(): boolean {
  const position = returned ? positions.get(current) : undefined;
  if (!position) return false;
  const until = Date.now() + WAIT_MS;
  const page = current;
  const attempt = () => {
    if (page !== current) return;
    scrollTo(0, position.top);
    const link = position.link && document.querySelector<HTMLElement>(`main a[href="${CSS.escape(position.link)}"]`);
    if (link) link.focus({ preventScroll: true });
    if ((Math.abs(scrollY - position.top) < 2 && (link || !position.link)) || Date.now() > until) return;
    requestAnimationFrame(attempt);
  };
  attempt();
  return true;
}
