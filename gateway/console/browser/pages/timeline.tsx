import type { AdminVolume, AuditEntry } from '../../../../src/api/admin.ts';
import { nameOf } from '../../../../src/cli/kind.ts';
import { Ago, toMoment } from '../parts/values.tsx';

/** A stay of a volume on a node. */
type Stay = {
  readonly nodeId: string;
  /** Undefined: it began before the oldest entry of the log. */
  readonly from?: string | undefined;
  /** Undefined: the volume is still there. */
  readonly until?: string | undefined;
};

type TimelineProps = {
  readonly attachments: AdminVolume['attachments'];
  /** The newest entries of the volume in the audit log, the newest first. */
  readonly log: readonly AuditEntry[];
};

/** The stays of a volume on nodes, each with a bar on the time that the log covers. */
export function Timeline({ attachments, log }: TimelineProps) {
  const stays = staysOf(attachments, log);
  const startMs = Date.parse(log.at(-1)?.at ?? '');
  const spanMs = Date.now() - startMs;
  const partOf = (at: string | undefined, otherwise: number): number =>
    at === undefined ? otherwise : Math.max(0, Math.min(100, (100 * (Date.parse(at) - startMs)) / spanMs));
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Attachments over time</h2>
      {stays.length === 0 && <p class="empty">It was never attached, as far as the audit log says.</p>}
      <ol class="timeline">
        {stays.map(({ nodeId, from, until }) => {
          const [left, right] = [partOf(from, 0), partOf(until, 100)];
          return (
            <li key={`${nodeId}${from}${until}`}>
              <span>
                {nameOf(nodeId)}: {from === undefined ? 'since before the oldest entry' : <Ago time={from} />}
                {' – '}
                {until === undefined ? 'still attached' : <Ago time={until} />}
              </span>
              <div class="track" title={titleOf(from, until)}>
                <span
                  class={until === undefined ? 'stay present' : 'stay'}
                  style={{ marginLeft: `${left}%`, width: `${right - left}%` }}
                />
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** Pairs attaches with the detaches that follow them. Present stays come first, then the newest. */
export function staysOf(
  attachments: TimelineProps['attachments'],
  log: TimelineProps['log'],
): readonly Stay[] {
  const ended: Stay[] = [];
  const began = new Map<string, string>();
  const seen = new Set<string>();
  for (const { operation, about: nodeId, code, at } of log.toReversed()) {
    if (code !== 'OK' || nodeId === undefined) continue;
    const from = began.get(nodeId);
    if (operation === 'attach' && from === undefined) began.set(nodeId, at);
    if (operation === 'detach' && (from !== undefined || !seen.has(nodeId))) {
      ended.push({ nodeId, from, until: at });
      began.delete(nodeId);
    }
    seen.add(nodeId);
  }
  const present = attachments.map(({ nodeId }) => ({ nodeId, from: began.get(nodeId) }));
  return [...present, ...ended.toReversed()];
}

function titleOf(from: string | undefined, until: string | undefined): string {
  return [from, until].map(at => (at === undefined ? '' : toMoment(at))).join(' – ');
}
