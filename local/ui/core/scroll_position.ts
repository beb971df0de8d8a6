/** Scroll position and focused link of each page in the history, for Back and Forward. */

/** Maximum wait for content that is still being read. */
const WAIT_MS = 3000;

interface ScrollPosition {
  top: number;
  link: string | null;
}

const positions = new Map<number, ScrollPosition>();
let lastPage = 0;
let currentPage = 0;
let isReturning = false;

const readPageNumber = (): number | undefined => (history.state as { page?: number } | null)?.page;

const enterPage = (): void => {
  const page = readPageNumber();
  isReturning = page !== undefined;
  if (page !== undefined) currentPage = page;
  else {
    currentPage = ++lastPage;
    history.replaceState({ page: currentPage }, "");
  }
};

/** Starts to store positions; to be called once, before the first page is drawn. */
export function trackScrollPositions(): void {
  history.scrollRestoration = "manual";
  lastPage = readPageNumber() ?? 0;
  enterPage();
  const storePosition = () => {
    const link = document.activeElement?.closest("main a")?.getAttribute("href") ?? null;
    positions.set(currentPage, { top: scrollY, link });
  };
  // The event comes before the new page is drawn: the position is that of the old one.
  addEventListener("popstate", () => {
    storePosition();
    enterPage();
  });
}

/** Scrolls to the position at which the reader left this page; returns false if there is none. */
export function restoreScrollPosition(): boolean {
  const position = isReturning ? positions.get(currentPage) : undefined;
  if (!position) return false;
  const until = Date.now() + WAIT_MS;
  const page = currentPage;
  const attempt = () => {
    if (page !== currentPage) return;
    scrollTo(0, position.top);
    const link = position.link && document.querySelector<HTMLElement>(`main a[href="${CSS.escape(position.link)}"]`);
    if (link) link.focus({ preventScroll: true });
    const isRestored = Math.abs(scrollY - position.top) < 2 && (link || !position.link);
    if (!isRestored && Date.now() <= until) requestAnimationFrame(attempt);
  };
  attempt();
  return true;
}
