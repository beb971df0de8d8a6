/** Starts the console. */
import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./core/live.ts";
import { followTheme } from "./core/session.ts";

followTheme(document.documentElement);
startLive();
const place = document.getElementById("app")!;
place.textContent = "";
render(<App />, place);
