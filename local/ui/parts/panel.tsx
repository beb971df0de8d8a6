import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useHeadingFocus } from "../core/hooks.tsx";
import { Boundary } from "./boundary.tsx";
import { Pending } from "./notice.tsx";

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

/** The one heading of a page. */
export function Heading({ children }: { children: ComponentChildren }) {
  return (
    <h1 tabIndex={-1} {...useHeadingFocus()}>
      {children}
    </h1>
  );
}

/** The head of a page: heading, lead and actions. */
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

/** A page whose content is being read, or the error. */
export const PendingPage = ({ title, error, what }: { title: string; error: unknown; what: string }) => (
  <>
    <PageHead title={title} />
    <Pending error={error} what={what} />
  </>
);

/** Pairs of a name and what goes with it; `wide` gives each a line of its own. */
export const Facts = ({
  of,
  wide = false,
}: {
  of: readonly (readonly [string, ComponentChildren])[];
  wide?: boolean;
}) => (
  <dl class={wide ? "facts wide" : "facts"}>
    {of.map(([name, content]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{content}</dd>
      </div>
    ))}
  </dl>
);
