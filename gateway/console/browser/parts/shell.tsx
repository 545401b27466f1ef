import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Operator } from '../gateway.ts';
import { hrefOf } from '../route.ts';
import { Link } from './link.tsx';

type ShellProps = {
  readonly operator: Operator;
  readonly current: string;
  readonly title: string;
  readonly onLogout: () => void;
  readonly children: ComponentChildren;
};

/** The pages of the menu: the first word of their address, and their title. */
export const menu = {
  '': 'Overview',
  volumes: 'Volumes',
  snapshots: 'Snapshots',
  attachments: 'Attachments',
  nodes: 'Nodes',
  pools: 'Pools',
  clusters: 'Clusters',
  operations: 'Operations',
  queues: 'Queues',
  'audit-log': 'Audit log',
  history: 'History',
} as const;

/** The frame of every page: the menu, the operator, and the title. */
export function Shell({ operator, current, title, onLogout, children }: ShellProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Fairlead`;
    // A screen reader reads the title of the new page.
    if (document.activeElement instanceof HTMLAnchorElement) heading.current?.focus();
  }, [title]);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <nav aria-label="Pages">
          <ul>
            {Object.entries(menu).map(([word, name]) => (
              <li key={word}>
                <Link href={hrefOf(word === '' ? [] : [word])} isCurrent={current === word}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <p class="operator">
          <span title={operator.subject}>{operator.subject}</span>
          {operator.role === 'reader' && ' (reader) '}
          <button type="button" onClick={onLogout}>
            Log out
          </button>
        </p>
      </header>
      <main id="content">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
      </main>
    </>
  );
}
