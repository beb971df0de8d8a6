import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useHeadingFocus } from "../core/hooks.tsx";
import { Boundary } from "./boundary.tsx";
import { Pending } from "./notice.tsx";

/** A titled part of a page; `aside` is next to the title. */
export function Panel({
  title,
  aside,
  children,
  class: extra = "",
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
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
export const PageHead = ({
  title,
  lead,
  children,
}: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  children?: ComponentChildren;
}) => (
  <header class="page-head">
    <div>
      <Heading>{title}</Heading>
      {lead && <p class="lead">{lead}</p>}
    </div>
    {children && <div class="page-actions">{children}</div>}
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
