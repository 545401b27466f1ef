import type { KindName } from '../../kinds/index.ts';

type StatusEntry = { readonly kind: KindName; readonly id: string };

/** One part of the system with its state. A line with `todo` needs an operator, and `what` says why. */
export type StatusLine = {
  readonly about: string;
  readonly state: string;
  readonly what?: string;
  readonly todo?: string;
  /** The pool, cluster, node, volume or snapshot that it is about, if it is about one. */
  readonly entry?: StatusEntry | undefined;
  /** True for a part that no check has looked at yet: it is not known to be right. */
  readonly isUnchecked?: true;
};

export function entryOf(kind: KindName, id: string): StatusEntry {
  return { kind, id };
}
