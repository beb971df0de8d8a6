/** The frame of every page: navigation, the current user, the state of the connection. */
import { Button } from "./parts/button.tsx";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { findActiveFreeze } from "../../lib/changes/rules/current_state.ts";
import { clockBehind } from "./core/api.ts";
import { formatTime, formatDateTime } from "./core/format.ts";
import { useNow, useValue, waitingCount, useWaitingCount } from "./core/hooks.tsx";
import { useKeyboard } from "./core/keyboard.tsx";
import { lazy } from "./core/lazy.tsx";
import { type Freshness, freshness, POLL_MS, type ServiceEvent } from "./core/live.ts";
import { href, type Route } from "./core/router.tsx";
import { personName, theme } from "./core/session.ts";
import { findProvenName, useServiceState, useWhoami } from "./core/shared.ts";
import { isUpgraded } from "./core/upgrade.ts";
import { FindDialog } from "./parts/find.tsx";
import { HelpDialog } from "./parts/help.tsx";
import { Notice } from "./parts/notice.tsx";
import { UserText, Sentence } from "./parts/text.tsx";
import type { State } from "./core/api_types.ts";
import type { Part } from "../../lib/wording/part.ts";
import { useResource } from "./core/resource.tsx";
import { readWaiting } from "./domain/inbox.ts";

const StopDialog = lazy(() => import("./parts/stop.tsx").then((part) => part.StopDialog));
const SignInForm = lazy(() => import("./parts/sign_in.tsx").then((part) => part.SignInForm));

/** First segment of the address, and title of each page. */
const PAGES: readonly (readonly [string, string])[] = [
  ["", "Inbox"],
  ["changes", "Changes"],
  ["kpis", "KPIs"],
  ["audit", "Audit"],
  ["settings", "Settings"],
];

export function Shell({ route, onYou, children }: { route: Route; onYou: () => void; children: ComponentChildren }) {
  const [openDialog, setOpenDialog] = useState<"help" | "find" | "stop" | undefined>();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const currentPage = route.path[0] ?? "";
  useKeyboard({ help: () => setOpenDialog("help"), find: () => setOpenDialog("find") });
  useEffect(() => setMenuOpen(false), [route]);
  const close = () => setOpenDialog(undefined);
  const { data: me } = useWhoami();
  const needsSignIn = me !== undefined && !me.may.includes("read");
  return (
    <>
      <TitleCount isSetByPage={currentPage === ""} />
      <Button
        class="skip"
        onClick={() => document.querySelector<HTMLElement>("h1")?.focus()}
        label="Skip to the page"
      />
      <header class="side">
        <div class="brand-row">
          <a class="brand" href={href([])}>
            <Logo /> Countersign
          </a>
          <FreshnessBadge />
          <Button class="stop danger outline small" onClick={() => setOpenDialog("stop")} label="Stop…" />
          <Button
            class="menu-button icon"
            aria-expanded={isMenuOpen}
            aria-controls="menu"
            onClick={() => setMenuOpen(!isMenuOpen)}
            label="Menu"
          />
        </div>
        <div id="menu" class={isMenuOpen ? "menu open" : "menu"}>
          <nav aria-label="Pages">
            <ul>
              {PAGES.map(([path, title]) => (
                <li key={path}>
                  <a href={href(path === "" ? [] : [path])} aria-current={path === currentPage ? "page" : undefined}>
                    {title}
                    {path === "" && <WaitingCount />}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <div class="side-foot">
            <You onYou={onYou} />
            <ThemeChoice />
            <div class="side-tools">
              <button type="button" class="link" onClick={() => setOpenDialog("find")}>
                Find <kbd>/</kbd>
              </button>
              <button type="button" class="link" onClick={() => setOpenDialog("help")}>
                Keys <kbd>?</kbd>
              </button>
            </div>
            <Product />
          </div>
        </div>
      </header>
      <main id="page">
        <UpgradeNotice />
        {needsSignIn ? (
          <SignInForm />
        ) : (
          <>
            <FreezeNotice />
            <ClockNotice />
            {children}
          </>
        )}
      </main>
      {openDialog === "stop" && <StopDialog onClose={close} />}
      {openDialog === "help" && <HelpDialog onClose={close} />}
      {openDialog === "find" && (
        <FindDialog
          pages={PAGES.map(([path, title]) => [href(path === "" ? [] : [path]), title] as const)}
          onClose={close}
        />
      )}
    </>
  );
}

/** Offers a reload after an upgrade; the reader can first finish typing. */
function UpgradeNotice() {
  if (!useValue(isUpgraded)) return null;
  return (
    <Notice tone="wait" alert>
      <p>
        The service was upgraded, and this page is from before.{" "}
        <Button class="link" onClick={() => location.reload()} label="Reload" />
      </p>
    </Notice>
  );
}

/** Warns that writes are rejected because the clock is far behind the log, and offers to accept the clock. */
function ClockNotice() {
  const accepting = useServiceAction("accept_clock");
  return (
    <>
      {useValue(clockBehind) && (
        <Notice tone="bad" alert>
          <p>
            The clock of this service is far behind its log, so entries cannot be dated and only rollbacks are possible.
            Set the clock right. If it is right now and ran ahead before, accept it.{" "}
            <Button class="link" onClick={accepting.ask} label="Accept the clock…" />
          </p>
        </Notice>
      )}
      {accepting.dialog}
    </>
  );
}

/** Shows the freeze of the service on every page, and offers to lift it. */
function FreezeNotice() {
  const { data } = useServiceState();
  const lifting = useServiceAction("unfreeze");
  const freeze = findActiveFreeze(data?.freeze, useNow());
  return (
    <>
      {freeze && (
        <Notice tone="warn">
          <p class="freeze-reason" tabIndex={0}>
            <Sentence parts={describeFreeze(freeze)} />
          </p>
          <p>
            <span class="freeze-effect">Only an emergency is applied meanwhile; a rollback is always possible. </span>
            <Button class="link" onClick={lifting.ask} label="Lift the freeze…" />
          </p>
        </Notice>
      )}
      {lifting.dialog}
    </>
  );
}

const Logo = () => (
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" />
    <path d="M8 17l4.5 4.5L20 13M15 19.5l2 2L25 13" />
  </svg>
);

function WaitingCount() {
  const waiting = useValue(waitingCount);
  return waiting === 0 ? null : (
    <span class="count">
      {waiting}
      <span class="unseen"> waiting</span>
    </span>
  );
}

function You({ onYou }: { onYou: () => void }) {
  const name = useValue(personName);
  const { data: me } = useWhoami();
  const proxyName = findProvenName(me);
  // The service rejects decisions under another name than the proven one.
  useEffect(() => {
    if (proxyName !== null) personName.set(proxyName);
  }, [proxyName, name]);
  return (
    <button type="button" class="you" onClick={onYou}>
      <small class="quiet">You</small>
      <span>{name === "" ? "Set your name" : <UserText text={name} />}</span>
    </button>
  );
}

function ThemeChoice() {
  const chosen = useValue(theme);
  return (
    <label class="theme">
      <small class="quiet">Theme</small>
      <select value={chosen} onChange={({ currentTarget }) => theme.set(currentTarget.value)}>
        <option value="">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

/** The product and its intent; the line is reserved before they are read, so that nothing moves. */
function Product() {
  const product = useServiceState().data?.product;
  return (
    <p class="product quiet">
      {product ? (
        <>
          <UserText text={product.product_id} />, intent <UserText text={product.version} />
        </>
      ) : (
        "\u00a0"
      )}
    </p>
  );
}

const FRESHNESS: Readonly<Record<Freshness["mode"], [word: (since: number) => string, title: string]>> = {
  connecting: [() => "Connecting", "The service has not answered yet."],
  live: [() => "Live", "Changes at the service appear immediately."],
  polling: [
    () => `Updates every ${POLL_MS / 1000} s`,
    "The page asks the service every few seconds, since its event stream cannot be opened.",
  ],
  offline: [
    (since) => `Offline since ${formatTime(since)}`,
    "The service cannot be reached, so the page is out of date. It tries again every few seconds.",
  ],
};

function FreshnessBadge() {
  const { mode, since } = useValue(freshness);
  const [word, title] = FRESHNESS[mode];
  return (
    <span class={`freshness ${mode}`} role="status" title={title}>
      <span class="dot" aria-hidden="true" />
      {word(since)}
    </span>
  );
}

/** "Ana froze the service until 24 Nov 2026, 08:00: the audit of the ledger." */
const describeFreeze = ({ actor, until, note }: NonNullable<State["freeze"]>): Part[] => [
  { text: actor },
  ` froze the service until ${until === null ? "somebody lifts it" : formatDateTime(until)}`,
  ...(note === "" ? ["."] : [": ", { text: note }]),
];

const ServiceDialog = lazy(() => import("./parts/service_dialog.tsx").then((part) => part.ServiceDialog));

/** Returns the dialog of an action whose button disappears afterwards; the heading takes the focus then. */
function useServiceAction(action: "unfreeze" | "accept_clock") {
  const [stage, setStage] = useState<"asking" | "done" | undefined>();
  useEffect(() => {
    if (stage === "done") document.querySelector<HTMLElement>("h1")?.focus();
  }, [stage]);
  return {
    ask: () => setStage("asking"),
    dialog: stage === "asking" && (
      <ServiceDialog action={action} onClose={() => setStage(undefined)} onDone={() => setStage("done")} />
    ),
  };
}

/** The number of waiting changes in the window title: for the reader, or for anybody if no name is set. */
function TitleCount({ isSetByPage }: { isSetByPage: boolean }) {
  const name = useValue(personName);
  const { data: state } = useServiceState();
  const readsOwnCount = name !== "" && !isSetByPage;
  const own = useResource(
    readsOwnCount ? `waiting for ${name}` : null,
    async (signal) => (await readWaiting(name, signal, 1)).totals,
    { concerns: changesWaitingCount },
  );
  const ownCount = own.data?.waiting_for_you ?? own.data?.pending;
  const count = readsOwnCount && !own.error ? ownCount : state && countPending(state);
  useWaitingCount(isSetByPage ? undefined : count);
  return null;
}

const changesWaitingCount = (event: ServiceEvent): boolean =>
  event === null || (event.type === "audit" && ["change_proposed", "consent_decision"].includes(event.data.event_type));

const countPending = ({ dimensions }: State): number =>
  dimensions.N.items.find(({ item }) => item === "pending_changes")?.open ?? 0;
