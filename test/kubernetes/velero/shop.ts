import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/cluster.ts';
import { claim, pod, type ClaimOptions } from '../scenarios/manifests.ts';
import { openWorkspace, type Workspace } from '../scenarios/workspace.ts';

/** The namespace of an app whose pods write continuously. */
export const shop = 'shop';

/** The claims of the pods: Velero's data mover reads the first read-only, as the guide configures it. */
const volumes: Readonly<Record<string, ClaimOptions>> = {
  ext4: { class: 'fast' },
  xfs: { class: 'xfs', size: '320Mi' },
};

const names = Object.keys(volumes);

/**
 * A script that writes random bytes once, and then numbers without end. Each number is durable before the next one is
 * written. A number and its line break have 8 bytes, so that no number crosses the boundary of two blocks.
 */
const script = `
  if [ ! -e /data/fixed ]; then
    dd if=/dev/urandom of=/data/new bs=64k count=256 2> /dev/null; sync; mv /data/new /data/fixed; sync
  fi
  touch /data/log
  n=$(($(stat -c %s /data/log) / 8))
  while true; do
    n=$((n + 1))
    printf '%07d\\n' $n | dd of=/data/log oflag=append conv=notrunc,fsync 2> /dev/null
    touch /tmp/done
    sleep 0.05
  done`;

/** The state of a volume: the hash of its random bytes, and the last durable number. */
type State = { readonly hash: string; readonly written: number };

/** The app's states by volume. */
export type ShopState = Readonly<Record<string, State>>;

/** Starts the app in a new namespace; resolves once its pods write. */
export async function openShop(cluster: Cluster): Promise<Workspace> {
  await cluster.kubectl('create', 'namespace', shop);
  const at = openWorkspace(cluster, shop);
  await at.apply(...names.map(name => claim(name, volumes[name])));
  await at.apply(...names.map(name => pod(name, { claim: name, script })));
  await at.untilReady(...names);
  return at;
}

/** Reads the app's state while its pods write. */
export async function readShop(at: Workspace): Promise<ShopState> {
  const states = names.map(async name => {
    const hash = await at.exec(name, 'sha256sum', '/data/fixed');
    // The last number may not be durable yet.
    return [name, { hash, written: (await countOf(at, name)) - 1 }] as const;
  });
  return Object.fromEntries(await Promise.all(states));
}

/** Writes a further file to each volume. */
export async function writeFile({ exec }: Workspace, file: string): Promise<void> {
  for (const name of names) await exec(name, 'sh', '-c', `echo > /data/${file}; sync`);
}

/** Fails unless a namespace has the app with all bytes of a state, and without a file that was written later. */
export async function requireShop(at: Workspace, state: ShopState, absent: string): Promise<void> {
  await at.untilReady(...names);
  for (const name of names) {
    assert.equal(await at.exec(name, 'sha256sum', '/data/fixed'), state[name]?.hash, name);
    assert.ok((await countOf(at, name)) >= (state[name]?.written ?? 0), name);
    assert.doesNotMatch(await at.exec(name, 'ls', '/data'), new RegExp(`^${absent}$`, 'm'));
  }
}

/** Counts the numbers in the log of a volume; rejects if one is missing or doubled. */
async function countOf({ exec }: Workspace, name: string): Promise<number> {
  return Number(
    await exec(name, 'awk', '$1 != sprintf("%07d", NR) { exit 1 } END { print NR }', '/data/log'),
  );
}
