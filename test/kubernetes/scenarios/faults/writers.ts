import assert from 'node:assert/strict';
import { claim, pod, type ClaimOptions } from '../manifests.ts';
import type { Figures, Workspace } from '../workspace.ts';

/** Pods that each write to a volume continuously. */
export interface Writers {
  /** Fails unless each pod has written since the call, has read its data back unchanged, and has never ended. */
  requireUnharmed(): Promise<void>;
  /** Returns the longest time between two writes of each pod. */
  maxPauses(): Promise<Figures>;
}

/** The claims of the pods: filesystems on devices, and a directory. */
const volumes: Readonly<Record<string, ClaimOptions>> = {
  ext4: { class: 'ext4' },
  xfs: { class: 'xfs', size: '320Mi' },
  files: { class: 'files' },
};

/**
 * A script that writes the number of each write and the seconds since the machine started. If it reads something else,
 * the pod ends.
 */
const script = `n=0
  while true; do
    n=$((n + 1))
    read -r now rest < /proc/uptime
    echo "$n $now" >> /data/log
    echo "$n" | dd of=/data/last conv=fsync 2> /dev/null
    line=$(tail -n 1 /data/log)
    [ "$line" = "$n $now" ]
    [ "$(cat /data/last)" = "$n" ]
    touch /tmp/done
    sleep 0.1
  done`;

/** Starts a pod for each kind of volume on each of the nodes; resolves once all of them write. */
export async function startWriters(at: Workspace, nodes: readonly string[]): Promise<Writers> {
  const names: string[] = [];
  for (const node of nodes)
    for (const [kind, options] of Object.entries(volumes)) {
      const name = `${kind}-${node}`;
      names.push(name);
      await at.apply(claim(name, options), pod(name, { claim: name, node, script }));
    }
  await at.untilReady(...names);
  return {
    requireUnharmed: async () => void (await Promise.all(names.map(name => requireUnharmed(at, name)))),
    async maxPauses() {
      const pauses = names.map(async name => [`longest pause of ${name}`, await maxPauseMs(at, name)]);
      return Object.fromEntries(await Promise.all(pauses)) as Figures;
    },
  };
}

async function requireUnharmed(at: Workspace, name: string): Promise<void> {
  const count = async () => Number(await at.exec(name, 'cat', '/data/last'));
  const before = await count();
  await at.exec(name, 'sh', '-c', `until [ "$(cat /data/last)" -gt ${before + 1} ]; do sleep 0.1; done`);
  await at.exec(name, 'awk', '$1 != NR { exit 1 }', '/data/log');
  const restarts = '{.status.containerStatuses[0].restartCount}';
  assert.equal(await at.kubectl('get', 'pod', name, '--output', `jsonpath=${restarts}`), '0', name);
}

async function maxPauseMs(at: Workspace, name: string): Promise<number> {
  const program = 'NR > 1 && $2 - last > most { most = $2 - last } { last = $2 } END { print most * 1000 }';
  return Math.round(Number(await at.exec(name, 'awk', program, '/data/log')));
}
