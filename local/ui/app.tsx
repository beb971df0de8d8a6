/** The console: the page that the address names, in its frame. */
import { useEffect, useRef, useState } from "preact/hooks";
import { focusPage } from "./core/hooks.tsx";
import { restoreScrollPosition } from "./core/scroll_position.ts";
import { lazy } from "./core/lazy.tsx";
import { href, type Route, useRoute } from "./core/router.tsx";
import { ChangePage } from "./pages/change.tsx";
import { InboxPage } from "./pages/inbox.tsx";
import { Boundary, PageHead } from "./parts/panel.tsx";
import { YouDialog } from "./parts/you.tsx";
import { Shell } from "./shell.tsx";

/** Decisions are made on the inbox and on a change's page; the code of other pages is loaded when they are opened. */
const AuditLogPage = lazy(() => import("./pages/audit.tsx").then((page) => page.AuditLogPage));
const ChangesPage = lazy(() => import("./pages/changes.tsx").then((page) => page.ChangesPage));
const ComparePage = lazy(() => import("./pages/compare.tsx").then((page) => page.ComparePage));
const MandatesPage = lazy(() => import("./pages/mandates.tsx").then((page) => page.MandatesPage));
const MandatePage = lazy(() => import("./pages/mandate.tsx").then((page) => page.MandatePage));
const KpisPage = lazy(() => import("./pages/kpis.tsx").then((page) => page.KpisPage));
const ProposePage = lazy(() => import("./pages/propose.tsx").then((page) => page.ProposePage));
const SettingsPage = lazy(() => import("./pages/settings.tsx").then((page) => page.SettingsPage));
const YouPage = lazy(() => import("./pages/you.tsx").then((page) => page.YouPage));

export function App() {
  const route = useRoute();
  const [asksIdentity, setAsksIdentity] = useState(false);
  const path = route.path.join("/");
  const isFirstPage = useRef(true);
  useEffect(() => {
    if (!isFirstPage.current && !restoreScrollPosition()) {
      scrollTo(0, 0);
      focusPage();
    }
    isFirstPage.current = false;
  }, [path]);
  return (
    <Shell route={route} onYou={() => setAsksIdentity(true)}>
      <Boundary key={path}>
        <Page route={route} onYou={() => setAsksIdentity(true)} />
      </Boundary>
      {asksIdentity && <YouDialog onClose={() => setAsksIdentity(false)} />}
    </Shell>
  );
}

function Page({ route, onYou }: { route: Route; onYou: () => void }) {
  const [page = "", id] = route.path;
  switch (page) {
    case "":
      return <InboxPage onYou={onYou} />;
    case "changes":
      return id === undefined ? <ChangesPage route={route} /> : <ChangePage id={id} />;
    case "compare":
      return <ComparePage route={route} />;
    case "propose":
      return <ProposePage key={route.query.toString()} route={route} />;
    case "kpis":
      return <KpisPage route={route} />;
    case "audit":
      return <AuditLogPage route={route} />;
    case "mandates":
      return id === undefined ? <MandatesPage /> : <MandatePage key={id} id={id} />;
    case "settings":
      return <SettingsPage />;
    case "you":
      return <YouPage onYou={onYou} />;
    default:
      return (
        <>
          <PageHead title="There is no such page" />
          <p>
            <a href={href([])}>Go to the inbox</a>
          </p>
        </>
      );
  }
}
