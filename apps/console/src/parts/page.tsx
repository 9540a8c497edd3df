import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

let visits = 0;

/**
 * A view with its heading. The heading takes the focus when one moves to the view, so that the keyboard and screen
 * readers begin there; not at the first view, which the browser announces itself.
 */
export function Page(props: {
  readonly title: string;
  /** Beside the heading. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    visits += 1;
    if (visits > 1) heading.current?.focus();
  }, []);
  useEffect(() => {
    document.title = `${props.title} · a2a-cluster`;
  }, [props.title]);
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {props.title}
        </h1>
        {props.aside}
      </div>
      {props.children}
    </>
  );
}

/** A part of a view with its own heading, by which screen readers find it. */
export function Section(props: {
  readonly id: string;
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const { id, title, aside, children } = props;
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
