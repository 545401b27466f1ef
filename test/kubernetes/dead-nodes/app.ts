import assert from 'node:assert/strict';
import type { Node } from '../cluster/node.ts';
import { statefulSet } from '../scenarios/faults/stateful-set.ts';
import type { Workspace } from '../scenarios/workspace.ts';

/** A StatefulSet of one pod that writes to its volume without pause. */
export type App = {
  readonly name: string;
  /** The names of the volume in the cluster and at the gateway. */
  readonly volume: string;
  readonly volumeId: string;
};

/**
 * Appends numbered records, each durable before the next, under a name that is new for each start of the container. It
 * goes on after an error.
 */
const script = `start=$(cat /proc/sys/kernel/random/uuid); n=0
  while true; do
    n=$((n + 1))
    echo "$start $n" | dd of=/data/log oflag=append conv=notrunc,fsync 2> /dev/null && touch /tmp/done || true
    sleep 0.05
  done`;

/** Starts the app on a node; resolves once its pod has written. */
export async function startApp(
  at: Workspace,
  { name: node }: Node,
  plan: Pick<App, 'name'> & { readonly class: string },
): Promise<App> {
  const { name } = plan;
  await at.apply(statefulSet(name, { script, prefers: node }, { class: plan.class }));
  await at.kubectl('scale', `statefulset/${name}`, '--replicas=1');
  await at.untilReads(`pod/${name}-0`, '{.spec.nodeName}', new RegExp(`^${node}$`));
  await at.untilReady(`${name}-0`);
  const volume = await at.untilReads(`pvc/data-${name}-0`, '{.spec.volumeName}', /./);
  return { name, volume, volumeId: `east.${volume}` };
}

/** Waits until the app's pod runs on another node, and returns the time of its start, to the second. */
export async function untilMoved(at: Workspace, { name }: App, from: Node): Promise<number> {
  await at.untilReads(`pod/${name}-0`, '{.spec.nodeName}', new RegExp(`^(?!${from.name}$).`));
  await at.untilReady(`${name}-0`);
  const started = '{.status.containerStatuses[0].state.running.startedAt}';
  return Date.parse(await at.untilReads(`pod/${name}-0`, started, /Z$/));
}

/** The records of a volume in the order of the file, by the start of the container that wrote them. */
export type Records = ReadonlyMap<string, number>;

/** Reads the app's volume. Fails unless each container has written records without a gap, and none after its successor. */
export async function readRecords(at: Workspace, { name }: App): Promise<Records> {
  const last = new Map<string, number>();
  let writer = '';
  for (const line of (await at.exec(`${name}-0`, 'cat', '/data/log')).split('\n')) {
    const [start = '', number = ''] = line.split(' ');
    if (start !== writer) assert.ok(!last.has(start), `a record of an earlier container: ${line}`);
    assert.equal(Number(number), (last.get(start) ?? 0) + 1, line);
    last.set(start, Number(number));
    writer = start;
  }
  return last;
}
