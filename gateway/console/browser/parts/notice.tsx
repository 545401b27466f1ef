import type { Live } from '../live.ts';
import { toMoment } from './values.tsx';

/** Says that a load has failed, and how old the values on the page are. */
export function Notice({ live: { problem, at } }: { readonly live: Live<unknown> }) {
  if (!problem) return null;
  const isGone = problem.code === 'UNAVAILABLE' || problem.code === 'DEADLINE_EXCEEDED';
  return (
    <p class="notice" role="status">
      <strong>{isGone ? 'The gateway does not answer' : 'The gateway refused this'}</strong>: {problem.detail}
      .{at && ` The page shows its state of ${toMoment(at.toISOString())}, and tries again.`}
    </p>
  );
}
