/** Components whose code is loaded when they are first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { subscribeToReconnect } from "./live.ts";

/** Makes a component of a module that is loaded on demand; `preload` loads the module before the component is shown. */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
): ComponentType<P> & { preload: () => Promise<void> } {
  let loaded: ComponentType<P> | undefined;
  const preload = async () => void (loaded ??= await load());
  return Object.assign(Lazy, { preload });

  function Lazy(props: P) {
    const [failed, setFailed] = useState(false);
    const [, draw] = useState({});
    useEffect(() => {
      if (loaded) return;
      preload().then(
        () => draw({}),
        () => setFailed(true),
      );
    }, []);
    // Browsers cache a failed module, so only a reload fetches it; nothing was typed yet that could be lost.
    useEffect(() => (failed ? subscribeToReconnect(() => location.reload()) : undefined), [failed]);
    const Page = loaded;
    if (Page) return <Page {...props} />;
    return failed ? (
      <p role="alert">
        This page could not be loaded. The service may be away, or have been upgraded:{" "}
        <button type="button" class="link" onClick={() => location.reload()}>
          Reload
        </button>
        .
      </p>
    ) : (
      <p class="quiet" aria-busy="true">
        Loading…
      </p>
    );
  }
}
