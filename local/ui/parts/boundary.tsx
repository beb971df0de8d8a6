import { Button } from "./button.tsx";
import { Component, type ComponentChildren } from "preact";

/** Keeps a fault of one part from taking the rest of the page with it. */
export class Boundary extends Component<{ children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false };

  override componentDidCatch(error: unknown): void {
    // oxlint-disable-next-line no-console -- nothing else keeps the cause
    console.error(error);
    this.setState({ failed: true });
  }

  override render({ children }: { children: ComponentChildren }) {
    if (!this.state.failed) return children;
    return (
      <p role="alert">
        This part could not be shown.{" "}
        <Button class="link" onClick={() => this.setState({ failed: false })} label="Try again" />
      </p>
    );
  }
}
