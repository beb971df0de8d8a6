/** Starts the console. */
import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./core/live.ts";
import { trackScrollPositions } from "./core/scroll_position.ts";
import { followTheme } from "./core/session.ts";
import { watchUpgrade } from "./core/upgrade.ts";

followTheme(document.documentElement);
startLive();
trackScrollPositions();
watchUpgrade();
const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
