import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { waitFor } from '../cluster/wait.ts';
import type { Node } from '../cluster/node.ts';
import type { Gateway } from '../installation/gateway.ts';
import type { InstalledCluster } from '../installation/installation.ts';

/** Resolves once no volume and no resource of a volume is left at a gateway and in its clusters. */
export async function untilNothingIsLeft(
  gateway: Gateway,
  clusters: readonly InstalledCluster[],
): Promise<void> {
  await waitFor('everything to be gone', async () => {
    for (const { cluster, nodes } of clusters) {
      const kinds = 'pv,volumeattachments,volumesnapshotcontents,volumegroupsnapshotcontents';
      assert.equal(await cluster.kubectl('get', kinds, '--output', 'name'), '');
      for (const node of nodes) assert.deepEqual(await volumesOn(node, gateway.device), []);
    }
    for (const table of ['volumes', 'snapshots', 'attachments'] as const)
      assert.equal(gateway.count(table), 0, table);
    for (const pool of ['fast', 'files']) assert.deepEqual(gateway.stored(pool), []);
    await gateway.check();
    return true;
  });
}

/** Lists the mounts, records and devices of a node's volumes; volumes are files on the pool's device. */
async function volumesOn(node: Node, poolDevice: string): Promise<readonly string[]> {
  const filesystem = poolDevice.replace('/dev/loop', '7:');
  const devices = `losetup --list --noheadings --output NAME,BACK-MAJ:MIN | grep ' ${filesystem}$'`;
  const script = `grep -F csi.fairlead.dev /proc/self/mountinfo; ls /var/lib/fairlead/volumes; ${devices}; true`;
  const found = await node.run(['sh', '-c', script]);
  return found.split('\n').filter(Boolean);
}

/** Fails if a closed site has left a file, a process or a control group. */
export function requireGone(directory: string): void {
  assert.equal(existsSync(directory), false);
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  assert.deepEqual(
    processes.map(commandLineOf).filter(line => line.includes(directory)),
    [],
  );
  const groups = globSync(`/sys/fs/cgroup/{,*/}${basename(directory)}*`);
  assert.deepEqual(groups, []);
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}
