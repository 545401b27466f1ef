import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { before, test } from 'node:test';
import { hostOf, wayOf, type ConnectionInfo } from '../../examples/cinder/reach.ts';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { packagesOf } from '../packages.ts';
import { MiB, startGuestNode } from '../vm/guest/agent.ts';
import { loadTarget } from '../vm/targets/configfs.ts';

const sizeBytes = 64 * MiB;
before(() => {
  execFileSync('mount', ['-t', 'overlay', '-o', `lowerdir=${packagesOf('cinder')}/usr:/usr`, 'overlay', '/usr']);
  loadTarget('nvmet', 'nvmet_tcp', 'nvme_tcp');
});
const left = () => readdirSync('/sys/class/nvme');
function loop(n: number): string {
  const path = `/scratch/volume-${n}`;
  writeFileSync(path, '');
  truncateSync(path, sizeBytes);
  return execFileSync('losetup', ['--find', '--show', path]).toString().trim();
}
const child = spawn('/usr/bin/python3', ['-W', 'ignore', 'test/cinder/nvmet.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: child.stdout });
async function ask(...args: unknown[]) {
  child.stdin.write(`${JSON.stringify(args)}\n`);
  return JSON.parse(((await once(lines, 'line')) as [string])[0]);
}
for (const shared of [false, true])
  test(`nvmet of Cinder 29, shared ${shared}`, async t => {
    const names = hostOf('n1');
    const { host, initiator, nqn } = names;
    const connector = { host, initiator, nqn, ip: '127.0.0.1' };
    const node = await startGuestNode(t);
    const volumes = [];
    for (const n of [1, 2]) {
      const path = loop(n);
      const id = `9a0d35d0-175a-11e4-8c21-08002000000${n}`;
      const info: ConnectionInfo = await ask(shared, 'export', path, id, connector);
      t.diagnostic(JSON.stringify(info));
      const { toReach, identify } = wayOf(info);
      const reach = toReach(info, names, await identify(info, names));
      t.diagnostic(JSON.stringify(reach));
      const common = { attachmentId: `a${n}`, sizeBytes, readonly: false, mayFormat: true };
      volumes.push({ path, id, fields: node.volumeAt({ name: `v${n}`, attachment: { ...reach, ...common } as AttachmentOf<'nvme-tcp'> }) });
    }
    const [one, two] = volumes;
    assert.ok(one && two);
    await node.requireLife(one.fields, { left });
    await node.requireLife(two.fields, { left });
    await node.bringUp(one.fields);
    await node.bringUp(two.fields);
    t.diagnostic(execFileSync('sh', ['-c', 'grep . /sys/class/nvme*/nvme*/subsysnqn /sys/block/nvme*/wwid']).toString());
    node.write(two.fields, 'two');
    await node.takeDown(one.fields);
    assert.equal(node.read(two.fields), 'two');
    await node.takeDown(two.fields);
    assert.deepEqual(left(), []);
    for (const { path, id } of volumes) {
      await ask(shared, 'remove', path, id, connector);
      execFileSync('losetup', ['--detach', path]);
    }
    assert.deepEqual(readdirSync('/sys/kernel/config/nvmet/subsystems'), []);
  });
test('end', () => void child.kill());
