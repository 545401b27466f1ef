import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { toManifests } from '../../../src/cli/commands/admin/manifests.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { sampleVolume } from '../../fakes/storage-api.ts';
import { mounted, newVolume, openMemory, volumeSpec } from '../../harness/gateway.ts';
import { type GatewayRun, runGateway } from '../../harness/gateway/program.ts';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

/** Starts a gateway with the volume a.one, and a node n1 of each cluster. */
async function start(t: TestContext, run: GatewayRun = {}) {
  const gateway = await runGateway(t, run);
  const call = { deadlineMs: Date.now() + 60_000 };
  const [a, b] = [gateway.client, gateway.clientOf('b')];
  await a.createVolume({ volumeId: 'a.one', body: volumeSpec('one') }, call);
  await b.putNode({ nodeId: 'n1', body: {} }, call);
  const fairlead = operatorCli(gateway);
  return { a, b, call, fairlead, directory: gateway.directory };
}

test('operators share a volume, cannot revoke it while it is attached, and revoke it by force', async t => {
  const { b, call, fairlead } = await start(t);
  const granted = await fairlead('admin grant a.one b --access read-write');
  assert.equal(granted.status, 0);
  assert.match(granted.stdout, /^# volume "a\.one" is shared with cluster "b" read-write\napiVersion: v1\n/);
  const [volume] = parseAllDocuments(granted.stdout).map(one => one.toJSON());
  assert.deepEqual(volume.spec.csi, { driver: 'csi.fairlead.dev', volumeHandle: 'a.one' });
  const key = { volumeId: 'a.one', nodeId: 'n1' };
  await b.attachVolume({ ...key, body: { capability: mounted, readonly: false } }, call);
  const { stdout: shown } = await fairlead('get volumes a.one -o json');
  assert.partialDeepStrictEqual(JSON.parse(shown), { grants: [{ cluster: 'b', access: 'read-write' }] });
  const refused = await fairlead('admin revoke a.one b');
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /volume "a\.one" is attached to node "n1" of cluster "b"/);
  assert.equal((await fairlead('admin revoke a.one b --force')).status, 0);
  await assert.rejects(b.getVolume({ volumeId: 'a.one' }, call), { code: 'NOT_FOUND' });
  const { stdout: log } = await fairlead('get audit-log a.one -o json');
  const { auditLog } = JSON.parse(log) as { auditLog: { operation: string; subject: string }[] };
  assert.deepEqual(
    auditLog.map(({ operation }) => operation),
    ['revoke', 'detach', 'begin to revoke', 'revoke', 'attach', 'grant read-write', 'create'],
  );
  assert.equal(auditLog[0]?.subject, 'operators-EdDSA');
});

test('a dry run of a grant, a revocation, a transfer and an import says the effect or the refusal, and changes nothing', async t => {
  const own = await openMemory();
  const { b, call, fairlead } = await start(t, { own, pools: { one: { backend: 'own' } } });
  await own.create(newVolume('legacy'));
  const state = async (): Promise<string> =>
    (await fairlead('get volumes -A -o json')).stdout + (await fairlead('get audit-log -o json')).stdout;
  const says = async (line: string, words: RegExp): Promise<void> => {
    const before = await state();
    const { stdout, stderr } = await fairlead(`admin ${line} --dry-run`);
    assert.match(stdout + stderr, words, line);
    assert.equal(await state(), before, line);
  };
  await says('grant a.one b', /^volume "a\.one" would be shared with cluster "b" read-only\n$/);
  await says('grant a.none b', /there is no volume "a\.none"/);
  await fairlead('admin grant a.one b --access read-write');
  await says('revoke a.one b', /^volume "a\.one" would not be shared with cluster "b"\n$/);
  const body = { capability: mounted, readonly: false };
  await b.attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, call);
  await says('grant a.one b', /is attached to node "n1" of cluster "b" for writing; detach it first/);
  await says('revoke a.one b', /is attached to node "n1" of cluster "b" for writing; detach it first/);
  const detaching = 'would detach volume "a\\.one" from node "n1" of cluster "b"\n';
  await says('revoke a.one b --force', new RegExp(`^${detaching}volume "a\\.one" would not be shared`));
  await says('transfer a.one --to b', new RegExp(`^${detaching}.* to cluster "b" as "b\\.one"\n$`));
  await says('transfer a.one --to b --name new', /would belong to cluster "b" as "b\.new"\n$/);
  await says('transfer a.one --to a', /already belongs to cluster "a"/);
  const into = 'import a.old --pool one --storage-id';
  await says(`${into} legacy`, /^"legacy" of pool "one" would be volume "a\.old" of cluster "a"\n$/);
  await says(`${into} legacy --size 1Mi`, /would be volume "a\.old" of cluster "a", 1Mi\n$/);
  await says(`${into} none`, /pool "one" lists no volume "none"/);
  await says(`${into} a.one`, /"a\.one" of the storage is already volume "a\.one"/);
});

test("a cluster sees another one's shared volume while its entry names that cluster, and explain says why it does not", async t => {
  const { a, b, call, fairlead, directory } = await start(t);
  const path = join(directory, 'gateway.yaml');
  const config = JSON.parse(readFileSync(path, 'utf8'));
  const takeFrom = (sharesFrom: readonly string[]): void => {
    const entry = { ...config.clusters.b, sharesFrom };
    writeFileSync(path, JSON.stringify({ ...config, clusters: { ...config.clusters, b: entry } }));
  };
  const sees = (count: number) =>
    poll(async () => (await b.listVolumes({}, call)).volumes.length === count || undefined, {
      everyMs: 100,
      timeoutMs: 30_000,
    });
  const grant = { volumeId: 'a.one', grantee: 'b', body: { access: 'read-write' } } as const;
  assert.equal((await a.grantVolume(grant, call)).isAccepted, false);
  await assert.rejects(b.getVolume({ volumeId: 'a.one' }, call), { code: 'NOT_FOUND' });
  const { stdout } = await fairlead('explain a.one');
  assert.match(stdout, /shared with cluster "b", which does not accept shares of cluster "a"/);
  assert.match(
    stdout,
    /add "a" to clusters\.b\.sharesFrom of gateway\.yaml, or run fairlead admin grant a\.one b/,
  );
  assert.match((await fairlead('get volumes -o wide')).stdout, /b:read-write:not-accepted/);
  takeFrom(['a']);
  assert.ok(await sees(1));
  assert.equal((await a.grantVolume(grant, call)).isAccepted, undefined);
  assert.doesNotMatch((await fairlead('explain a.one')).stdout, /does not accept shares/);
  takeFrom([]);
  assert.ok(await sees(0));
});

test('operators grant copies with the manifests of the other cluster, see who has them, and revoke them', async t => {
  const { a, b, call, fairlead } = await start(t);
  await a.createSnapshot({ snapshotId: 'a.cut', body: { name: 'cut', volumeId: 'a.one' } }, call);
  await a.createGroup({ groupId: 'a.all', body: { name: 'all', volumeIds: ['a.one'] } }, call);
  const read = async (line: string) =>
    parseAllDocuments((await fairlead(line)).stdout).map(one => one.toJSON());
  const dry = await fairlead('admin grant a.cut b --kind snapshot --dry-run');
  assert.equal(dry.stdout, 'cluster "b" could copy snapshot "a.cut"\n');
  await assert.rejects(b.getSnapshot({ snapshotId: 'a.cut' }, call), { code: 'NOT_FOUND' });
  const [content, snapshot] = await read('admin grant a.cut b --kind snapshot --namespace shop');
  assert.deepEqual(content.spec, {
    deletionPolicy: 'Retain',
    driver: 'csi.fairlead.dev',
    source: { snapshotHandle: 'a.cut' },
    volumeSnapshotRef: { name: 'cut', namespace: 'shop' },
  });
  assert.deepEqual(
    [content.metadata, snapshot.metadata, snapshot.spec],
    [{ name: 'cut' }, { name: 'cut', namespace: 'shop' }, { source: { volumeSnapshotContentName: 'cut' } }],
  );
  const [member] = await read('admin grant a.all b --kind group');
  const [id = ''] = (await a.getGroup({ groupId: 'a.all' }, call)).snapshots.map(one => one.id);
  assert.equal(member.spec.source.snapshotHandle, id);
  const [volume, claim] = await read('admin grant a.one b --copy');
  assert.deepEqual(
    [volume.spec.accessModes, volume.spec.csi.readOnly, claim.kind],
    [['ReadWriteOnce'], undefined, 'PersistentVolumeClaim'],
  );
  const both = await fairlead('admin grant a.one b --copy --access read-only');
  assert.match(both.stdout, /^# volume .* read-only\n# cluster "b" can copy volume "a\.one"\napiVersion/);
  const [readOnly] = parseAllDocuments(both.stdout).map(one => one.toJSON());
  assert.deepEqual([readOnly.spec.accessModes, readOnly.spec.csi.readOnly], [['ReadOnlyMany'], true]);
  assert.match((await fairlead('get volumes a.one -o wide')).stdout, / b:read-only,b:copy\b/);
  for (const name of ['a.cut', id])
    assert.match((await fairlead(`get snapshots ${name} -o wide`)).stdout, / b:copy\b/);
  const source = { kind: 'snapshot', snapshotId: 'a.cut' } as const;
  await b.createVolume({ volumeId: 'b.copy', body: volumeSpec('copy', { source }) }, call);
  assert.equal((await fairlead('admin revoke a.cut b --kind snapshot --dry-run')).status, 0);
  assert.equal((await b.getSnapshot({ snapshotId: 'a.cut' }, call)).owner, 'a');
  for (const line of ['a.cut b --kind snapshot', 'a.all b --kind group', 'a.one b'])
    assert.equal((await fairlead(`admin revoke ${line}`)).status, 0);
  for (const one of ['snapshots a.cut', `snapshots ${id}`, 'volumes a.one']) {
    const { grants, copyGrants } = JSON.parse((await fairlead(`get ${one} -o json`)).stdout);
    assert.deepEqual([grants, copyGrants], [undefined, undefined]);
  }
  const wrong = await fairlead('admin grant a.cut b --kind snapshot --access read-only');
  assert.match(wrong.stderr, /a snapshot cannot be attached; leave out --access/);
});

test('operators see the effect of a detachment and a deletion first, and then have them done', async t => {
  const { a, call, fairlead } = await start(t);
  const key = { volumeId: 'a.one', nodeId: 'n1' };
  await a.putNode({ nodeId: 'n1', body: {} }, call);
  await a.attachVolume({ ...key, body: { capability: mounted, readonly: false } }, call);
  const steps: readonly (readonly [line: string, status: number, says: RegExp])[] = [
    [
      'admin delete a.one',
      1,
      /: volume "a\.one" is attached to node "n1"; fairlead explain a\.one shows what holds it$/m,
    ],
    ['admin detach a.one', 1, /which cluster "a" still reports; delete the pods .*, or detach it by force$/m],
    [
      'admin detach a.one n1x --force',
      1,
      /: volume "a\.one" is not attached to node "n1x" \(did you mean "n1"\?\); it is attached to node "n1" of cluster "a"$/m,
    ],
    [
      'admin detach a.one --node-cluster aa --force',
      1,
      /: volume "a\.one" is not attached to any node of cluster "aa"; it is attached to node "n1" of /m,
    ],
    [
      'admin detach a.one --force --dry-run',
      0,
      /^would detach volume "a\.one" from node "n1" of cluster "a"$/m,
    ],
    ['admin detach a.one n1 --force', 0, /^volume "a\.one" is detached from node "n1" of cluster "a"$/m],
    ['admin detach a.one n1', 1, /is not attached to node "n1"; it is attached to no node$/m],
    ['admin detach a.one', 0, /^volume "a\.one" is not attached to any node; nothing was done$/m],
    ['admin delete a.one --dry-run', 0, /^would delete volume "a\.one" for good, because /m],
    ['admin delete a.one', 0, /^volume "a\.one" is deleted$/m],
    ['admin delete a.one', 1, /: there is no volume "a\.one"; list all with fairlead get volumes -A$/m],
  ];
  for (const [line, status, says] of steps) {
    const result = await fairlead(line);
    assert.equal(result.status, status, line);
    assert.match(status === 1 ? result.stderr : result.stdout, says);
  }
});

const uncut = 'its pool cannot cut a node off: a node that still runs can read and write the volume\n';

test('every command that detaches in a dir pool warns in the same words, before and after it does', async t => {
  const pools = { files: { backend: 'dir', dir: temporaryDirectory(t) } };
  const { a, b, call, fairlead } = await start(t, { pools });
  await a.putNode({ nodeId: 'n1', body: {} }, call);
  const body = { capability: mounted, readonly: false };
  const attach = (client: typeof a): Promise<unknown> =>
    client.attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, call);
  await fairlead('admin grant a.one b --access read-write');
  await attach(b);
  assert.equal((await fairlead('admin revoke a.one b --force')).stderr, uncut);
  assert.equal((await fairlead('admin revoke a.one b --force')).stderr, '');
  await attach(a);
  for (const flags of ['--force --dry-run', '--force'])
    assert.equal((await fairlead(`admin detach-node a n1 ${flags}`)).stderr, uncut);
  await attach(a);
  for (const flags of ['--force --dry-run', '--force']) {
    const { stdout } = await fairlead(`admin retire-cluster a ${flags}`);
    assert.ok(stdout.replaceAll(/ +\n/g, '\n').includes(uncut), stdout);
  }
  await fairlead('admin retire-cluster a --end');
  await a.putNode({ nodeId: 'n1', body: {} }, call);
  await attach(a);
  const transferred = await fairlead('admin transfer a.one --to b');
  assert.deepEqual([transferred.status, transferred.stderr], [0, uncut]);
  assert.equal(parseAllDocuments(transferred.stdout).length, 2);
});

test('operators detach a node by its id, and a name without its key says what to give', async t => {
  const { a, call, fairlead } = await start(t);
  await a.putNode({ nodeId: 'n1', body: {} }, call);
  const key = { volumeId: 'a.one', nodeId: 'n1' };
  await a.attachVolume({ ...key, body: { capability: mounted, readonly: false } }, call);
  const steps: readonly (readonly [line: string, status: number, says: RegExp])[] = [
    [
      'admin detach-node a n1',
      1,
      /which cluster "a" still reports; delete the pods .*, or detach it by force$/m,
    ],
    [
      'admin detach-node a/n1 --force --dry-run',
      0,
      /^would detach volume "a\.one" from node "n1" of cluster "a"$/m,
    ],
    ['admin detach-node a', 1, /: --node is required: give CLUSTER NODE, or CLUSTER\/NODE/m],
    [
      'admin detach-node a n1 --force --dry-run',
      0,
      /^would detach volume "a\.one" from node "n1" of cluster "a"$/m,
    ],
    ['admin detach-node a n1 --force', 0, /^volume "a\.one" is detached from node "n1" of cluster "a"$/m],
    ['admin detach-node a n1', 0, /^no volume is attached to node "n1" of cluster "a"; nothing was done$/m],
    [
      'admin detach-node a n12',
      1,
      /: cluster "a" has no node "n12" \(did you mean "n1"\?\); the id includes the key, see fairlead get nodes --cluster a -o json$/m,
    ],
    ['admin detach-node ab n1', 1, /: there is no cluster "ab"; list all with /m],
  ];
  for (const [line, status, says] of steps) {
    const result = await fairlead(line);
    assert.equal(result.status, status, line);
    assert.match(status === 1 ? result.stderr : result.stdout, says);
  }
});

test('a command for a volume that is missing says how to list all', async t => {
  const { fairlead } = await start(t);
  const unknown = await fairlead('admin revoke a.one bb');
  assert.deepEqual([unknown.status, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /: there is no cluster "bb"; list all with /);
  assert.equal((await fairlead('admin revoke a.one b')).status, 0);
  for (const line of [
    'detach a.none',
    'grant a.none b',
    'revoke a.none b',
    'transfer a.none --to b',
    'restore a.none',
  ])
    assert.match(
      (await fairlead(`admin ${line}`)).stderr,
      /"a\.none"; list all with fairlead get volumes -A$/m,
      line,
    );
  assert.match(
    (await fairlead('admin import a.x --pool one --storage-id none')).stderr,
    /pool "one" lists no volume "none"$/m,
  );
});

test('operators detach a volume of a dir pool only by force, and learn that the node may still write', async t => {
  const pools = { files: { backend: 'dir', dir: temporaryDirectory(t) } };
  const { a, call, fairlead } = await start(t, { pools });
  const key = { volumeId: 'a.one', nodeId: 'n1' };
  await a.putNode({ nodeId: 'n1', body: {} }, call);
  await a.attachVolume({ ...key, body: { capability: mounted, readonly: false } }, call);
  await assert.rejects(a.deleteNode({ nodeId: 'n1' }, call), { code: 'FAILED_PRECONDITION' });
  const refused = await fairlead('admin detach a.one');
  assert.equal(refused.status, 1);
  assert.match(
    refused.stderr,
    /pool "files" cannot cut node "n1" off .*; once that machine is off, detach .* by force$/m,
  );
  const forced = await fairlead('admin detach a.one --force');
  assert.deepEqual([forced.status, forced.stderr], [0, uncut]);
});

test('an operator drains a pool, sees what is left, and uses the pool again', async t => {
  const { a, call, fairlead } = await start(t);
  const left = /^cluster +volumes +snapshots +reserved\na +1 +0 +1Mi$/m;
  const dry = await fairlead('admin drain one --dry-run');
  assert.match(dry.stdout, /^pool "one" would take no new volumes; what is left:\n/);
  assert.match((await fairlead('get pools one --no-headers')).stdout, /^one +memory +open /);
  const drained = await fairlead('admin drain one');
  assert.deepEqual([drained.status, left.test(drained.stdout)], [2, true], drained.stdout);
  assert.match((await fairlead('get pools one --no-headers')).stdout, /^one +memory +open\+drained /);
  await a.deleteVolume({ volumeId: 'a.one' }, call);
  const empty = await fairlead('admin drain one');
  assert.deepEqual(
    [empty.status, empty.stdout],
    [
      0,
      'pool "one" takes no new volumes; it is empty: remove it from gateway.yaml, or use it again with --end\n',
    ],
  );
  assert.equal((await fairlead('admin drain one --end')).stdout, 'pool "one" takes new volumes\n');
  await a.createVolume({ volumeId: 'a.two', body: volumeSpec('two') }, call);
  assert.match((await fairlead('admin drain two')).stderr, /there is no pool "two"; the pools are one\n/);
  assert.match(
    (await fairlead('get audit-log one --no-headers')).stdout,
    /operator +end drain +one +OK\n.*operator +drain +one +OK/,
  );
});

test('an operator retires a cluster, sees what it left behind, and takes it back into service', async t => {
  const { a, call, fairlead } = await start(t);
  await a.putNode({ nodeId: 'n1', body: {} }, call);
  await a.attachVolume(
    { volumeId: 'a.one', nodeId: 'n1', body: { capability: mounted, readonly: false } },
    call,
  );
  const refused = await fairlead('admin retire-cluster a');
  assert.equal(refused.status, 2);
  assert.match(
    refused.stdout,
    /^attachment +a\.one\/a\/n1 +detach +failed +delete the pods that use it, or retire the cluster by force$/m,
  );
  assert.match(refused.stdout, /^1 step failed, so cluster "a" stays in service; remove the causes/m);
  const mistakes: readonly (readonly [flags: string, says: RegExp])[] = [
    ['--volumes transfer', /: --to is missing: name the cluster that gets the volumes$/m],
    ['--to b', /: --to "b" is given, but --volumes is keep: give --volumes transfer, or leave --to out$/m],
  ];
  for (const [flags, says] of mistakes)
    assert.match((await fairlead(`admin retire-cluster a ${flags}`)).stderr, says);
  const planned = await fairlead('admin retire-cluster a --force --dry-run');
  assert.match(planned.stdout, /planned\n.*\nthe tokens of cluster "a" would be refused then\n$/);
  assert.equal((await a.listVolumes({}, call)).volumes.length, 1);
  const done = await fairlead('admin retire-cluster a --force');
  assert.deepEqual(
    [done.status, /cluster "a" is retired: its tokens are refused; remove/.test(done.stdout)],
    [0, true],
  );
  await assert.rejects(a.listVolumes({}, { deadlineMs: Date.now() + 2_000 }), /cluster "a" was retired/);
  assert.match((await fairlead('get clusters a --no-headers')).stdout, /^a +retired +all +1 +1Mi +0 +0/);
  assert.equal(
    (await fairlead('admin retire-cluster a --end')).stdout,
    'the tokens of cluster "a" are accepted\n',
  );
  assert.equal((await a.listVolumes({}, call)).volumes.length, 1);
});

test('a retirement with a failed step says that the cluster is retired, and what is left', async t => {
  const { a, b, call, fairlead } = await start(t);
  await b.createVolume({ volumeId: 'b.one', body: volumeSpec('one') }, call);
  const planned = await fairlead('admin retire-cluster a --volumes transfer --to b --dry-run');
  assert.match(planned.stdout, /^1 step would fail; remove the causes first$/m);
  const says =
    /^cluster "a" is retired, but 1 step failed, and resources are left; remove the causes and run this again$/m;
  for (let i = 0; i < 2; i++) {
    const { stdout, status } = await fairlead('admin retire-cluster a --volumes transfer --to b');
    assert.match(stdout, says);
    assert.equal(status, 2);
  }
  await assert.rejects(a.listVolumes({}, { deadlineMs: Date.now() + 2_000 }), /cluster "a" was retired/);
});

test('a transferred volume gets manifests for its new cluster, and nothing else on stdout', async t => {
  const { b, call, fairlead } = await start(t);
  const { stdout, status } = await fairlead(
    'admin transfer a.one --to b --namespace shop --claim data --driver csi.example',
  );
  assert.equal(status, 0);
  const [volume, claim] = parseAllDocuments(stdout).map(document => document.toJS() as unknown);
  assert.deepEqual(volume, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'one' },
    spec: {
      capacity: { storage: '1048576' },
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      storageClassName: '',
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { namespace: 'shop', name: 'data' },
      csi: { driver: 'csi.example', volumeHandle: 'b.one' },
    },
  });
  assert.partialDeepStrictEqual(claim, {
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop' },
    spec: { volumeName: 'one', resources: { requests: { storage: '1048576' } } },
  });
  assert.equal((await b.getVolume({ volumeId: 'b.one' }, call)).state, 'ready');
  const again = await fairlead('admin transfer a.one --to b --json');
  assert.equal((parse(again.stdout) as { volume: { id: string } }).volume.id, 'b.one');
});

test('importing a volume that the pool lacks, or that a cluster already has, is refused', async t => {
  const { fairlead } = await start(t);
  for (const [line, says] of [
    [
      'admin import b.mine --pool one --storage-id a.one',
      /"a\.one" of the storage is already volume "a\.one"/,
    ],
    ['admin import b.mine --pool one', /pool "one" lists no volume "b\.mine"/],
    [
      'admin import b.mine --pool one --manifest pv.yaml --size 1Mi --access-type block',
      /the file of --manifest replaces --size, --access-type; leave out one or the other/,
    ],
  ] as const) {
    const { status, stderr } = await fairlead(line);
    assert.equal(status, 1);
    assert.match(stderr, says);
  }
});

test('manifests have everything for Kubernetes: mode, filesystem, context, place, and a valid name', () => {
  const volume = {
    ...sampleVolume(),
    id: 'b.My_Volume.',
    context: { 'fs.label': 'x' },
    topology: [{ zone: 'a', rack: '1' }],
  };
  const capabilities = [
    { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER', fsType: 'ext4' },
    { accessType: 'mount', accessMode: 'SINGLE_NODE_SINGLE_WRITER' },
  ] as const;
  const [made] = toManifests(
    { volume, capabilities: [...capabilities] },
    { driver: 'd', namespace: 'default' },
  );
  assert.partialDeepStrictEqual(made, {
    metadata: { name: 'my-volume' },
    spec: {
      accessModes: ['ReadWriteMany', 'ReadWriteOncePod'],
      csi: { fsType: 'ext4', volumeAttributes: { 'fs.label': 'x' } },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: 'zone', operator: 'In', values: ['a'] },
                { key: 'rack', operator: 'In', values: ['1'] },
              ],
            },
          ],
        },
      },
    },
  });
  const [block] = toManifests(
    { volume, capabilities: [{ accessType: 'block', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' }] },
    { driver: 'd', namespace: 'default' },
  );
  assert.partialDeepStrictEqual(block, { spec: { volumeMode: 'Block', csi: { driver: 'd' } } });
});

test('an operator empties a pool of the snapshots of a retired cluster, one by one or with the cluster', async t => {
  const { a, b, call, fairlead } = await start(t);
  await b.createVolume({ volumeId: 'b.two', body: volumeSpec('two') }, call);
  for (const name of ['cut', 'more'])
    await a.createSnapshot({ snapshotId: `a.${name}`, body: { name, volumeId: 'a.one' } }, call);
  const { snapshots } = await a.createGroup(
    { groupId: 'a.both', body: { name: 'both', volumeIds: ['a.one'] } },
    call,
  );
  await b.createSnapshot({ snapshotId: 'b.cut', body: { name: 'cut', volumeId: 'b.two' } }, call);
  const member = snapshots[0]?.id ?? '';
  const kept = await fairlead('admin retire-cluster a --volumes delete');
  assert.match(kept.stdout, /^snapshot +a\.cut +keep +done/m);
  assert.match(kept.stdout, /its snapshots \(3\) stay, unless you run this again with --snapshots delete; /);
  const drained = await fairlead('admin drain one');
  assert.match(drained.stdout, /^a +0 +3 +0$/m);
  assert.match(drained.stdout, /fairlead get snapshots -A -l pool=one list them$/m);
  const steps: readonly (readonly [line: string, status: number, says: RegExp])[] = [
    ['delete-snapshot a.cut --dry-run', 0, /^would delete snapshot "a\.cut" for good$/m],
    ['delete a.cut', 1, /: there is no volume "a\.cut"; .* use fairlead admin delete-snapshot a\.cut$/m],
    ['delete-snapshot a.cut', 0, /^snapshot "a\.cut" is deleted$/m],
    ['delete-snapshot a.cut', 1, /: there is no snapshot "a\.cut"; list all with fairlead get snapshots -A/m],
    [
      `delete-snapshot ${member}`,
      1,
      / belongs to group "a\.both"; delete the group; see fairlead admin delete-group$/m,
    ],
    ['delete-group a.both', 0, new RegExp(`^snapshot "${member}" is deleted$`, 'm')],
    ['delete-group a.both', 1, /: there is no group "a\.both"; /m],
    [
      'retire-cluster a --snapshots delete --dry-run',
      0,
      /^snapshot +a\.more +delete +planned[^]*its tokens are refused; remove/m,
    ],
    [
      'retire-cluster a --snapshots delete',
      0,
      /^snapshot +a\.more +delete +done[^]*its tokens are refused; remove/m,
    ],
  ];
  for (const [line, status, says] of steps) {
    const result = await fairlead(`admin ${line}`);
    assert.equal(result.status, status, line);
    assert.match(status === 1 ? result.stderr : result.stdout, says);
  }
  assert.match((await fairlead('admin drain one')).stdout, /what is left:\ncluster .*\nb +1 +1 +1Mi$/m);
  assert.match(
    (await fairlead('get audit-log a.cut --no-headers')).stdout,
    /operator +delete +a\.cut +OK\n.* a +snapshot +a\.cut +OK\n$/,
  );
});
