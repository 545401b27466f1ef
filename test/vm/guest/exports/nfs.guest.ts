import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { before, test } from 'node:test';
import { exports } from '../../../../gateway/exports/index.ts';
import { pause } from '../../../../src/lib/concurrency.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { startServer } from '../../fleet/shares/box.ts';

const address = '10.77.0.1';
const root = '/box/shares';
const run = (...[command = '', ...args]: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

before(() => {
  run('modprobe', '-a', 'xfs', 'nfs');
  run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
  mkdirSync('/box');
  run('truncate', '-s', '512M', '/scratch/disk');
  run('mkfs.xfs', '-q', '/scratch/disk');
  run('mount', '-o', 'loop', '/scratch/disk', '/box');
  startServer();
  mkdirSync(root);
});

async function open() {
  const settings = exports.nfs.settings.parse({ protocol: 'nfs', addresses: [address], noRootSquash: true });
  const context = {
    root,
    kind: 'directory',
    log: silentLog,
    poolKey: async () => new Uint8Array(32),
  } as const;
  return exports.nfs.open(settings, context);
}

const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const access = (attachmentId: string) => ({
  nodeId: 'n1',
  cluster: 'a',
  attachmentId,
  capability,
  readonly: false,
  addresses: [address],
});

/** Mounts a volume and writes numbered lines to a file of it, each durable, with a lock on it. */
async function writeOn(name: string) {
  const at = `/scratch/${name}-${crypto.randomUUID()}`;
  mkdirSync(at);
  run('mount', '-t', 'nfs', '-o', 'vers=4.2,retry=0', `${address}:${root}/${name}`, at);
  const script =
    'exec 9>>"$0/lines"; flock 9; i=0; while :; do i=$((i+1)); echo $i >&9; sync "$0/lines"; done';
  const child = spawn('sh', ['-ec', script, at], { stdio: ['ignore', 'ignore', 'pipe'] });
  let fault = '';
  child.stderr.on('data', (text: Buffer) => (fault += text.toString()));
  const ended = once(child, 'exit');
  const count = (): number => readFileSync(`${root}/${name}/lines`, { encoding: 'utf8', flag: 'a+' }).length;
  return {
    fault: () => fault,
    ended,
    /** Returns once more lines are durable. */
    async goesOn() {
      const from = count();
      while (count() <= from + 6) {
        assert.equal(child.exitCode, null, fault);
        await pause(100);
      }
    },
  };
}

test('a withdrawn export is dead for its open files and locks, also when the volume is attached again, and another goes on', async () => {
  const exported = await open();
  assert.deepEqual(await exported.check?.(), []);
  const volumes = ['c.one', 'c.two'].map(id => ({
    id,
    nonce: 'own',
    path: `${root}/${id}`,
    sizeBytes: 2 ** 20,
  }));
  const [one, two] = volumes;
  assert.ok(one && two);
  for (const { path } of volumes) mkdirSync(path);
  for (const [volume, id] of [
    [one, 'first'],
    [two, 'second'],
  ] as const)
    await exported.publish(volume, access(id));
  const [first, second] = [await writeOn('c.one'), await writeOn('c.two')];
  await first.goesOn();
  await second.goesOn();
  await exported.withdraw(one, 'n1', 'a');
  const content = readFileSync(`${one.path}/lines`, 'utf8');
  await exported.publish(one, access('third'));
  await first.ended;
  assert.match(first.fault(), /Stale file handle|Input\/output error/);
  assert.equal(readFileSync(`${one.path}/lines`, 'utf8'), content);
  await second.goesOn();
  for (const volume of volumes) await exported.withdraw(volume, 'n1', 'a');
  await second.ended;
  const left = run('sh', '-c', 'cat /proc/fs/nfsd/clients/*/states 2>/dev/null || true');
  assert.equal(left.trim(), '');
  run('flock', '--nonblock', `${one.path}/lines`, 'true');
  assert.deepEqual(readdirSync('/etc/exports.d'), []);
  assert.equal(run('exportfs', '-s'), '');
});

test('an export whose file another program has removed is withdrawn as well', async () => {
  const exported = await open();
  const volume = { id: 'c.lost', nonce: 'own', path: `${root}/c.lost`, sizeBytes: 2 ** 20 };
  mkdirSync(volume.path);
  await exported.publish(volume, access('first'));
  const writer = await writeOn('c.lost');
  await writer.goesOn();
  for (const file of readdirSync('/etc/exports.d')) rmSync(`/etc/exports.d/${file}`);
  await exported.withdraw(volume, 'n1', 'a');
  await writer.ended;
  assert.equal(run('exportfs', '-s'), '');
});

test('the check names an export that contains the directory', async () => {
  const exported = await open();
  run('exportfs', '-i', '-o', 'rw,no_subtree_check', '192.0.2.7:/box');
  assert.match(String(await exported.check?.()), /"\/box" is exported to 192\.0\.2\.7/);
  run('exportfs', '-u', '192.0.2.7:/box');
  assert.deepEqual(await exported.check?.(), []);
});

test('the service has the rights to see what the server does', async () => {
  const unit = readFileSync(
    new URL('../../../../deploy/systemd/fairlead-gateway.service', import.meta.url),
    'utf8',
  );
  const [, rights = ''] = /^CapabilityBoundingSet=(.*)$/m.exec(unit) ?? [];
  const kept = rights.split(' ').map(right => `+${right.slice('CAP_'.length).toLowerCase()}`);
  const script = `for id in $(pgrep -x nfsd); do cat /proc/$id/stack; done`;
  const limited = ['--bounding-set', ['-all', ...kept].join(), '--inh-caps', '-all'];
  assert.match(run('setpriv', ...limited, 'sh', '-ec', script), /svc_recv/);
});
