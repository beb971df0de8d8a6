/** The scrolled place and the focused link of each page in the history, for Back and Forward. */

/** How long content that is still being read is waited for. */
const WAIT_MS = 3000;

interface Place {
  top: number;
  link: string | null;
}

const places = new Map<number, Place>();
let newest = 0;
let current = 0;
let returned = false;

const read = (): number | undefined => (history.state as { page?: number } | null)?.page;

const enter = (): void => {
  const known = read();
  returned = known !== undefined;
  if (known !== undefined) current = known;
  else {
    current = ++newest;
    history.replaceState({ page: current }, "");
  }
};

/** Begins to note places; called once, before the first page is drawn. */
export function followPlaces(): void {
  history.scrollRestoration = "manual";
  newest = read() ?? 0;
  enter();
  const note = () => {
    const link = document.activeElement?.closest("main a")?.getAttribute("href") ?? null;
    places.set(current, { top: scrollY, link });
  };
  // The page is still the one that is left.
  addEventListener("popstate", () => {
    note();
    enter();
  });
}

/** Goes where the reader was when they left this page; false where they have not been on it. */
export function restorePlace(): boolean {
  const place = returned ? places.get(current) : undefined;
  if (!place) return false;
  const until = Date.now() + WAIT_MS;
  const page = current;
  const attempt = () => {
    if (page !== current) return;
    scrollTo(0, place.top);
    const link = place.link && document.querySelector<HTMLElement>(`main a[href="${CSS.escape(place.link)}"]`);
    if (link) link.focus({ preventScroll: true });
    if ((Math.abs(scrollY - place.top) < 2 && (link || !place.link)) || Date.now() > until) return;
    requestAnimationFrame(attempt);
  };
  attempt();
  return true;
}
