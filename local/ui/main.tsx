/** Starts the console. */
import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./core/live.ts";
import { followPlaces } from "./core/place.ts";
import { followTheme } from "./core/session.ts";
import { watchUpgrade } from "./core/upgrade.ts";

followTheme(document.documentElement);
startLive();
followPlaces();
watchUpgrade();
const place = document.getElementById("app")!;
place.textContent = "";
render(<App />, place);
