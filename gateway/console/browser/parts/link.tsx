import type { ComponentChildren } from 'preact';
import { goTo } from '../route.ts';

type LinkProps = {
  readonly href: string;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
};

/** A link to a place of the console, which needs no new load of the page. */
export function Link({ href, isCurrent = false, children }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    // A click with a key opens a new tab or window, as for any link.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goTo(href);
  };
  return (
    <a href={href} onClick={follow} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </a>
  );
}
