import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { readGuide, toShell } from '../../../docs/guides/guide.ts';
import { createClient } from '../../../src/api/client.ts';
import { readTlsFiles } from '../../../src/api/http/tls-files.ts';
import { createTokenSource } from '../../../src/api/http/tokens.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { untilAvailable } from '../../harness/csi-serving.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { endProcess } from '../../harness/exit.ts';

/** The units that the gateway's unit needs, and the one that shows its log. */
const kept = /^(sys-kernel-config\.mount|systemd-journald\.service)$/;
const patience = { everyMs: 500, timeoutMs: 180_000 };

test('the guide turns a machine with systemd into a storage server', async t => {
  const dir = temporaryDirectory(t);
  const inside = await startSystemd(t, dir);
  /** Runs commands inside and returns their output. */
  const run = (script: string): string => {
    const { status, stdout } = spawnSync(
      'nsenter',
      [...inside, 'bash', '-c', `exec 2>&1; set -eux\n${script}`],
      {
        encoding: 'utf8',
        env: { ...process.env, PATH: `${dir}/bin:${process.env['PATH']}` },
      },
    );
    assert.equal(status, 0, stdout);
    return stdout;
  };
  provideRelease(`${dir}/bin`);
  run(
    `truncate --size=1G ${dir}/disk; mkfs.xfs -q ${dir}/disk; mkdir -p /srv/fast; mount -o loop ${dir}/disk /srv/fast`,
  );
  const steps = readGuide('docs/guides/storage-server.md', { '192.0.2.10': '127.0.0.1' });
  const walk = (machine: string): string =>
    run(
      steps
        .filter(step => step.machine === machine)
        .map(toShell)
        .join('\n'),
    );
  const output = walk('box');
  assert.match(output, /^pool fast: not checked: whose volumes it holds, .*; all else is ok$/m);

  const { client, call } = await callAsCluster(t);
  // The last step of the guide is a restart.
  assert.ok(
    await poll(() => client.putNode({ nodeId: 'n1', body: {} }, call()).catch(() => undefined), patience),
  );
  await client.createVolume({ volumeId: 'east.v', body: volumeSpec }, call());
  const { attachment } = await client.attachVolume(
    { volumeId: 'east.v', nodeId: 'n1', body: attachmentSpec },
    call(),
  );
  assert.equal(attachment?.protocol, 'nvme-tcp');
  const isExported = (): string =>
    run('systemctl is-active fairlead-gateway; ls /sys/kernel/config/nvmet/subsystems');
  assert.match(isExported(), new RegExp(String(attachment.subsystem)));
  run('systemctl kill --signal KILL fairlead-gateway');
  const isBack = () => client.getVolume({ volumeId: 'east.v' }, call()).catch(() => undefined);
  assert.ok(await poll(isBack, patience));
  assert.match(isExported(), new RegExp(String(attachment.subsystem)));
  // The records answer at once, the pool once it is open again.
  await untilAvailable(() => client.detachVolume({ volumeId: 'east.v', nodeId: 'n1' }, call()));
  assert.doesNotMatch(isExported(), /fairlead:/);

  // A real start of the machine does more, which is not needed here: no target has a file of the disk open.
  run(
    `systemctl stop fairlead-gateway; umount /srv/fast; mkfs.xfs -qf ${dir}/disk; mount -o loop ${dir}/disk /srv/fast`,
  );
  run('systemctl start fairlead-gateway || true');
  // The unit fails and systemd restarts it. Its message may be gone from the journal, which the kernel's messages fill.
  const restarts = 'systemctl show --property NRestarts --value fairlead-gateway';
  const isRefused = () => /^[1-9]\d*$/m.test(run(restarts)) || undefined;
  assert.ok(await poll(isRefused, patience), run('systemctl status --full fairlead-gateway || true'));
  walk('box-with-a-new-disk');
  assert.match(run('fairlead admin check || test $? = 2'), /east\.v\b.*missing|missing.*east\.v\b/);
  await client.deleteVolume({ volumeId: 'east.v' }, call());
  run('systemctl stop fairlead-gateway');
});

const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
const attachmentSpec = { capability, readonly: false } as const;
const volumeSpec = { name: 'v', requiredBytes: 2 ** 24, capabilities: [capability] };

/** Makes a caller with the key from the Secret of the guide's cluster. */
async function callAsCluster(t: TestContext) {
  const secret = parse(readFileSync('/etc/fairlead/east.secret.yaml', 'utf8')) as Secret;
  const keyFile = `${temporaryDirectory(t)}/key.json`;
  writeFileSync(keyFile, secret.stringData['key.jwk.json']);
  const token = createTokenSource({ keyFile, issuer: 'east', audience: 'fairlead', lifetimeMs: 60_000 });
  const tls = readTlsFiles({ ca: '/etc/fairlead/tls.crt' });
  const client = createClient({ url: 'https://127.0.0.1:7700', token, tls });
  t.after(() => client.close());
  return { client, call: () => ({ deadlineMs: Date.now() + 60_000, requestId: 'walk' }) };
}

type Secret = { readonly stringData: { readonly 'key.jwk.json': string } };

/**
 * Starts a systemd in a process namespace of its own, which ends with the test; returns the beginning of a command
 * inside.
 */
async function startSystemd(t: TestContext, dir: string): Promise<readonly string[]> {
  const log = `${dir}/systemd`;
  // Units that boot a whole machine, such as udev, take an emulated processor a minute.
  const wanted = '/usr/lib/systemd/system/sysinit.target.wants';
  for (const unit of readdirSync(wanted).filter(name => !kept.test(name)))
    symlinkSync('/dev/null', `/etc/systemd/system/${unit}`);
  const flags = ['--system', '--unit=sysinit.target', '--log-target=console', '--show-status=no'];
  const manager = spawn(
    'unshare',
    ['--pid', '--fork', '--kill-child', '--mount-proc', '/usr/lib/systemd/systemd', ...flags],
    { env: { ...process.env, container: 'test' }, stdio: ['ignore', openSync(log, 'w'), openSync(log, 'a')] },
  );
  t.after(() => endProcess(manager));
  const children = `/proc/${manager.pid}/task/${manager.pid}/children`;
  const isUp = async () => {
    const inside = ['--target', readFileSync(children, 'utf8').trim(), '--pid', '--mount', '--'];
    const { status } = spawnSync('nsenter', [...inside, 'systemctl', 'is-active', 'sysinit.target']);
    return status === 0 ? inside : undefined;
  };
  const found = await poll(isUp, patience);
  assert.ok(found, readFileSync(log, 'utf8'));
  return found;
}

/**
 * Puts the release's package where the guide expects it, and writes an `apt-get` that unpacks it and runs its script, as dpkg
 * does. The machine has no database of packages; test/install/ proves that the real one installs it.
 */
function provideRelease(directory: string): void {
  const file = process.env['DEBIAN_PACKAGE'] ?? '';
  mkdirSync('/root', { recursive: true });
  symlinkSync(file, `/root/${basename(file)}`);
  mkdirSync(directory);
  writeFileSync(
    `${directory}/apt-get`,
    `#!/bin/sh
set -eu
[ "$1" = install ] || exit 0
[ -e /usr/lib/fairlead ] || dpkg-deb --fsys-tarfile "$3" | tar --extract --directory / --keep-directory-symlink
rm -rf /tmp/control
dpkg-deb --control "$3" /tmp/control
exec /tmp/control/postinst configure
`,
  );
  chmodSync(`${directory}/apt-get`, 0o755);
}
