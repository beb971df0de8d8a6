/** Components whose code is loaded when they are first shown. */
import { Button } from "../parts/button.tsx";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { subscribeToReconnect } from "./live.ts";

/** Makes a component of a module that is loaded on demand; `ahead` loads the module before the component is shown. */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
): ComponentType<P> & { ahead: () => Promise<void> } {
  let loaded: ComponentType<P> | undefined;
  const ahead = async () => void (loaded ??= await load());
  return Object.assign(Lazy, { ahead });

  function Lazy(props: P) {
    const [failed, setFailed] = useState(false);
    const [, draw] = useState({});
    useEffect(() => {
      if (loaded) return;
      ahead().then(
        () => draw({}),
        () => setFailed(true),
      );
    }, []);
    // Browsers cache a failed module, so only a reload fetches it; this page holds no typed text that could be lost.
    useEffect(() => (failed ? subscribeToReconnect(() => location.reload()) : undefined), [failed]);
    const Page = loaded;
    if (Page) return <Page {...props} />;
    return failed ? (
      <p role="alert">
        This page could not be loaded. The service may be away, or have been upgraded:{" "}
        <Button class="link" onClick={() => location.reload()} label="Reload" />.
      </p>
    ) : (
      <p class="quiet" aria-busy="true">
        Loading…
      </p>
    );
  }
}
