import assert from 'node:assert/strict';
import { capture } from '../../cluster/capture.ts';
import type { Installation } from '../../installation/installation.ts';
import { claim, fromClaim, fromSnapshot, pod, snapshot } from '../manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from '../workspace.ts';

/** Scenarios of copies that one cluster makes of another cluster's volumes and snapshots. */
export const grantScenarios: Scenarios = {
  'a snapshot that is granted for copies becomes a volume of the other cluster, within its quota, until it is revoked':
    installation =>
      inBoth(installation, 'granted-snapshot', async ({ from, to, operate }) => {
        const sum = await writeBytes(from);
        await from.apply(snapshot('yesterday', 'data'));
        await from.untilReads('volumesnapshot/yesterday', '{.status.readyToUse}', /^true$/);
        const content = '{.status.boundVolumeSnapshotContentName}';
        const own = await from.untilReads('volumesnapshot/yesterday', content, /./);
        const handle = '{.status.snapshotHandle}';
        const id = await from.untilReads(`volumesnapshotcontent/${own}`, handle, /^east\./);
        const copied = ['west', '--kind', 'snapshot'];
        const printed = await operate('grant', id, ...copied, '--namespace', to.name);
        await operate('revoke', id, ...copied);
        const name = await applyPrinted(to, printed);
        try {
          await to.untilReads(`volumesnapshotcontent/${name}`, '{.status.error.message}', /snapshot/);
          await operate('grant', id, ...copied);
          await to.untilReads(`volumesnapshot/${name}`, '{.status.readyToUse}', /^true$/);
          const dataSource = fromSnapshot(name);
          await to.apply(claim('copy', { size: '128Mi', dataSource }), pod('reader', { claim: 'copy' }));
          await to.untilReady('reader');
          assert.equal(await sumOf(to, 'reader'), sum);
          await to.apply(claim('large', { size: '7Gi', dataSource }));
          await to.untilEvent('pvc/large', /the quota "bytes" of cluster "west"/);
          await operate('revoke', id, ...copied);
          await to.apply(claim('late', { dataSource }));
          await to.untilEvent('pvc/late', new RegExp(`there is no snapshot "${id}"`));
          assert.equal(await sumOf(to, 'reader'), sum);
        } finally {
          // A claim that waits keeps its source. The policy Retain keeps the snapshot itself.
          await to.kubectl('delete', 'pvc', 'large', 'late', '--ignore-not-found', '--timeout=180s');
          // The provisioner frees the snapshot of deleted claims within a minute.
          await to.remove(`volumesnapshot/${name}`);
          await to.remove(`volumesnapshotcontent/${name}`);
        }
        await from.untilReads('volumesnapshot/yesterday', '{.status.readyToUse}', /^true$/);
      }),

  'a volume that is granted for copies is cloned in the other cluster, and its own pod writes on':
    installation =>
      inBoth(installation, 'granted-volume', async ({ from, to, operate }) => {
        const sum = await writeBytes(from);
        const id = `east.${await from.untilReads('pvc/data', '{.spec.volumeName}', /./)}`;
        const name = await applyPrinted(
          to,
          await operate('grant', id, 'west', '--copy', '--namespace', to.name),
        );
        try {
          const dataSource = fromClaim(name);
          await to.apply(claim('clone', { dataSource }), pod('reader', { claim: 'clone' }));
          await to.untilReady('reader');
          assert.equal(await sumOf(to, 'reader'), sum);
          await from.exec('writer', 'sh', '-c', 'echo other > /data/bytes; sync');
          assert.equal(await sumOf(to, 'reader'), sum);
        } finally {
          await to.remove(`pvc/${name}`, `pv/${name}`);
        }
      }),
};

type Clusters = {
  readonly from: Workspace;
  readonly to: Workspace;
  /** Runs a command of `fairlead admin`, and returns its output. */
  readonly operate: (...argv: readonly string[]) => Promise<string>;
};

function inBoth(
  { east, west, gateway }: Installation,
  name: string,
  work: (clusters: Clusters) => Promise<void>,
): Promise<void> {
  const operate = (...argv: readonly string[]) => gateway.operate('admin', ...argv);
  return inWorkspace(east.cluster, name, from =>
    inWorkspace(west.cluster, name, to => work({ from, to, operate })),
  );
}

/** Starts a pod that writes random bytes to the claim `data`, and returns their hash. */
async function writeBytes(at: Workspace): Promise<string> {
  const script = 'head -c 8388608 /dev/urandom > /data/bytes; sync';
  await at.apply(claim('data'), pod('writer', { claim: 'data', script }));
  await at.untilReady('writer');
  return sumOf(at, 'writer');
}

function sumOf(at: Workspace, name: string): Promise<string> {
  return at.exec(name, 'sha256sum', '/data/bytes');
}

/** Applies manifests that a command has printed, and returns the name of their objects. */
async function applyPrinted(at: Workspace, manifests: string): Promise<string> {
  await capture(at.cluster.commandLine(['apply', '--filename', '-']), manifests);
  const [, name] = /^ {2}name: "?([^"\n]+)"?$/m.exec(manifests) ?? [];
  return name ?? assert.fail(manifests);
}
