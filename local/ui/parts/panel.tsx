/** The parts of a page: heads, panels, facts, foldable details, and the handling of faults in them. */
import { type ComponentChildren, Component } from "preact";
import { useId, useState } from "preact/hooks";
import { useHeadingFocus } from "../core/hooks.tsx";
import { Pending } from "./notice.tsx";
import { Button } from "./button.tsx";
import { get, type Query } from "../core/api.ts";
import { useResource } from "../core/resource.tsx";

/** A titled part of a page; `aside` is next to the title. */
export function Panel(props: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  const { title, aside, children, class: extra = "" } = props;
  const id = useId();
  return (
    <section class={`panel ${extra}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      <Boundary>{children}</Boundary>
    </section>
  );
}

export function Heading({ children }: { children: ComponentChildren }) {
  return (
    <h1 tabIndex={-1} {...useHeadingFocus()}>
      {children}
    </h1>
  );
}

export const PageHead = (props: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  children?: ComponentChildren;
}) => (
  <header class="page-head">
    <div>
      <Heading>{props.title}</Heading>
      {props.lead && <p class="lead">{props.lead}</p>}
    </div>
    {props.children && <div class="page-actions">{props.children}</div>}
  </header>
);

/** A page whose content is being read, or the error; `what` names the content in “Reading …”. */
export const PendingPage = ({ title, error, what }: { title: string; error: unknown; what: string }) => (
  <>
    <PageHead title={title} />
    <Pending error={error} what={what} />
  </>
);

/** Names with their contents; `wide` puts each name on a line of its own. */
export const Facts = (props: { of: readonly (readonly [string, ComponentChildren])[]; wide?: boolean }) => (
  <dl class={props.wide ? "facts wide" : "facts"}>
    {props.of.map(([name, content]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{content}</dd>
      </div>
    ))}
  </dl>
);

/** Shows a message in place of a part that throws, so that the rest of the page stays. */
export class Boundary extends Component<{ children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false };

  override componentDidCatch(error: unknown): void {
    // oxlint-disable-next-line no-console -- the cause is reported nowhere else
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

/** Details whose content is drawn once they are opened. */
export function Disclosure(props: { summary: ComponentChildren; class?: string; children: () => ComponentChildren }) {
  const { summary, class: extra = "", children } = props;
  const [open, setOpen] = useState(false);
  return (
    <details class={extra} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{summary}</summary>
      {open && children()}
    </details>
  );
}

/** A panel that reads its data from the service; `path` is relative to `api/`. */
export function ReadPanel<T>(props: {
  title: string;
  path: string;
  query?: Query;
  children: (data: T, reload: () => Promise<void>) => ComponentChildren;
}) {
  const { title, path, query = {}, children } = props;
  const { data, error, reload } = useResource(path, (signal) => get<T>(`api/${path}`, query, signal));
  return (
    <Panel title={title}>{data ? children(data, reload) : <Pending error={error} what={title.toLowerCase()} />}</Panel>
  );
}
