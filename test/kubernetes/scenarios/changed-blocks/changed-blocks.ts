import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readGuide } from '../../../../docs/guides/guide.ts';
import { capture } from '../../cluster/capture.ts';
import { waitFor } from '../../cluster/wait.ts';
import { makeCertificate } from '../../installation/gateway.ts';
import { backupCluster, type Installation } from '../../installation/installation.ts';
import { prepareRelease, type Release } from '../../installation/release.ts';
import { claim, fromSnapshot, pod, snapshot } from '../manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from '../workspace.ts';
import type { BackupResult } from './backup.ts';
import { defineServices, removeServices } from './definition.ts';
import { backupContainer, importPrograms } from './image.ts';

const guide = resolve(import.meta.dirname, '../../../../docs/guides/kubernetes.md');
const driver = 'blocks.fairlead.dev';
const namespace = 'blocks';
const service = 'fairlead-snapshot-metadata';
const host = `${service}.${namespace}.svc`;
/** The cluster-wide objects of the guide's account. */
const accountObjects = ['clusterrole/backup-of-blocks', 'clusterrolebinding/backup-of-blocks'];
/** The values of this release's agents, which run beside others on the same nodes. */
const apart = { port: 9812, statePath: '/var/lib/fairlead-blocks' };

/** Scenarios of backups. */
export const changedBlockScenarios: Scenarios = {
  'a backup program copies a volume under writes by its allocated blocks, and later only the changed ones':
    async installation => {
      const { gateway, east } = installation;
      const { cluster } = east;
      const release = await installDriver(installation);
      await inWorkspace(cluster, 'changed-blocks', async at => {
        await takeSnapshots(at);
        const { allocatedBytes, changedBytes, capacityBytes, ...result } = await backUp(at);
        assert.deepEqual(result, {
          differences: [-1, -1],
          refusals: ['UNAUTHENTICATED', 'PERMISSION_DENIED'],
        });
        assert.equal(capacityBytes, 64 * 1024 ** 2);
        assert.ok(allocatedBytes >= 8 * 1024 ** 2 && allocatedBytes < capacityBytes, `${allocatedBytes}`);
        assert.ok(changedBytes > 0 && changedBytes < allocatedBytes, `${changedBytes}`);
      });
      for (const table of ['volumes', 'snapshots'] as const)
        await waitFor(
          `no ${table} to be left`,
          () => gateway.count(table, 'cluster = ?', backupCluster) === 0 || undefined,
        );
      await release.uninstall();
      await removeServices(cluster);
      await cluster.kubectl('delete', ...accountObjects);
      await cluster.kubectl('delete', 'namespace', namespace, '--timeout=180s');
    },
};

/** Does an administrator's part, and then installs a further release with the sidecar. */
async function installDriver({ site, gateway, east }: Installation): Promise<Release> {
  const { cluster, nodes } = east;
  const directory = join(site.directory, 'changed-blocks');
  mkdirSync(directory);
  await importPrograms(directory, nodes);
  await makeCertificate(directory, `DNS:${host}`);
  const [certificate, key] = ['crt', 'key'].map(end => join(directory, `tls.${end}`));
  await defineServices(cluster);
  const values = {
    driver: { name: driver },
    sidecars: { snapshotMetadata: { enabled: true, caCert: readFileSync(certificate ?? '', 'utf8') } },
    storageClasses: [{ name: 'blocks', pool: 'fast', volumeBindingMode: 'Immediate' }],
    volumeSnapshotClasses: [{ name: 'blocks' }],
  };
  const release = await prepareRelease(cluster, { name: backupCluster, namespace, values }, gateway);
  const files = [`--cert=${certificate}`, `--key=${key}`];
  await cluster.kubectl('create', 'secret', 'tls', service, '--namespace', namespace, ...files);
  await release.install(...Object.entries(apart).map(([name, value]) => `node.${name}=${value}`));
  return release;
}

const write = (blocks: string) => `dd if=/dev/urandom of=/dev/data conv=notrunc,fsync ${blocks}`;

/** Snapshots a volume twice while a pod writes to it, and makes a claim from each snapshot. */
async function takeSnapshots(at: Workspace): Promise<void> {
  const loop = `while ${write('bs=64k count=1 seek=$((n * 37 % 512))')}; do n=$((n + 1)); touch /tmp/wrote; sleep 0.1; done`;
  const script = `${write('bs=1M count=8 seek=40')}; n=0; ${loop} & until test -e /tmp/wrote; do sleep 0.1; done`;
  const disk = { isBlock: true, class: 'blocks' };
  await at.apply(claim('data', disk), pod('writer', { claim: 'data', isBlock: true, script }));
  await at.untilReady('writer');
  for (const name of ['first', 'second']) {
    await at.exec('writer', 'sh', '-c', 'rm -f /tmp/wrote; until test -e /tmp/wrote; do sleep 0.1; done');
    await at.apply(snapshot(name, 'data', 'blocks'));
    await at.untilReads(`volumesnapshot/${name}`, '{.status.readyToUse}', /^true$/);
    await at.apply(claim(name, { ...disk, dataSource: fromSnapshot(name) }));
  }
}

/** Runs the backup program in a pod, with the account of the guide, and returns its findings. */
async function backUp(at: Workspace): Promise<BackupResult> {
  const steps = readGuide(guide, { 'namespace: backups': `namespace: ${at.name}` });
  const account = steps.filter(({ machine }) => machine === 'backups').map(({ text }) => text);
  await capture(at.cluster.commandLine(['apply', '--filename', '-']), account.join('---\n'));
  const foreignToken = await at.kubectl('create', 'token', 'default', '--audience', driver);
  await at.apply(backupPod([driver, at.name, 'first', 'second', foreignToken], await addressOf(at)));
  const phase = await at.untilReads('pod/backup', '{.status.phase}', /^(Succeeded|Failed)$/);
  const output = await at.kubectl('logs', 'backup');
  assert.equal(phase, 'Succeeded', output);
  return JSON.parse(output) as BackupResult;
}

/** Makes the pod of the backup program, with the claims `first` and `second` as its devices. */
function backupPod(args: readonly string[], ip: string): object {
  const claims = ['first', 'second'];
  const container = {
    name: 'backup',
    ...backupContainer,
    args,
    volumeDevices: claims.map(name => ({ name, devicePath: `/dev/${name}` })),
    volumeMounts: [{ name: 'copy', mountPath: '/copy' }],
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'backup' },
    spec: {
      restartPolicy: 'Never',
      serviceAccountName: 'backup',
      hostAliases: [{ ip, hostnames: [host] }],
      containers: [container],
      volumes: [
        { name: 'copy', emptyDir: {} },
        ...claims.map(name => ({ name, persistentVolumeClaim: { claimName: name } })),
      ],
    },
  };
}

/** Finds the endpoint of the sidecar's Service, since the clusters have neither DNS nor kube-proxy. */
async function addressOf({ cluster }: Workspace): Promise<string> {
  const slices = ['get', 'endpointslices', '--selector', `kubernetes.io/service-name=${service}`];
  const paths = '{.items[0].endpoints[*].addresses[0]} {.items[0].ports[0].port}';
  const found = await cluster.kubectl('--namespace', namespace, ...slices, '--output', `jsonpath=${paths}`);
  const [ip = '', port] = found.split(' ');
  assert.equal(port, '50051');
  return ip;
}
