import { useEffect, useState } from "preact/hooks";
import { lazy } from "../core/lazy.tsx";

const ServiceDialog = lazy(() => import("./service_dialog.tsx").then((part) => part.ServiceDialog));

/** The dialog of an action whose button disappears once it is done: the heading then takes the focus. */
export function useServiceAction(action: "unfreeze" | "accept_clock") {
  const [stage, setStage] = useState<"asking" | "done" | undefined>();
  useEffect(() => {
    if (stage === "done") document.querySelector<HTMLElement>("h1")?.focus();
  }, [stage]);
  return {
    ask: () => setStage("asking"),
    dialog: stage === "asking" && (
      <ServiceDialog act={action} onClose={() => setStage(undefined)} onDone={() => setStage("done")} />
    ),
  };
}
