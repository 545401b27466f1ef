import assert from 'node:assert/strict';
import { test } from 'node:test';
import { surveyProtocols } from '../../../../node-agent/connectors/index.ts';
import { createMachine } from '../../../../node-agent/host/linux.ts';
import { attachmentFields } from '../../../../src/api/attachment.ts';
import { createSysfsHost, type SysfsHost } from '../../../fakes/sysfs.ts';

function install(host: SysfsHost, ...tools: readonly string[]): void {
  for (const tool of tools) host.put(`/usr/bin/${tool}`, '');
}

/** The reason why a protocol does not work; undefined when it does. */
async function reasonFor(protocol: string, host: SysfsHost): Promise<string | undefined> {
  const states = await surveyProtocols(host);
  return states.find(state => state.protocol === protocol)?.reason;
}

test('every protocol is looked at, and on this machine too, with no command run', async () => {
  const host = createMachine({ timeoutMs: 1 });
  const states = await surveyProtocols(host);
  assert.deepEqual(
    states.map(({ protocol }) => protocol),
    Object.keys(attachmentFields),
  );
});

test('a protocol does not work without its tool, its module, or its service, and each is named', async () => {
  const host = createSysfsHost();
  assert.match((await reasonFor('iscsi', host)) ?? '', /"iscsiadm" is not installed/);
  install(host, 'iscsiadm');
  assert.match((await reasonFor('iscsi', host)) ?? '', /no module "iscsi_tcp"/);
  host.put('/sys/module/iscsi_tcp/initstate', 'live');
  assert.match((await reasonFor('iscsi', host)) ?? '', /nothing listens on "@ISCSIADM/);
  host.put('/proc/net/unix', '0000: 00000002 00000000 00010000 0001 01 999 @ISCSIADM_ABSTRACT_NAMESPACE');
  assert.equal(await reasonFor('iscsi', host), undefined);
  assert.deepEqual(host.lines, []);
});

test('a module counts that is loaded, built in, or there to be loaded, and none of a like name', async () => {
  const lists = '/lib/modules/6.1.0-1-amd64';
  const rows = [
    ['/sys/module/nvme_tcp/initstate', 'live', true],
    [`${lists}/modules.builtin`, 'kernel/drivers/nvme/host/nvme-tcp.ko', true],
    [
      `${lists}/modules.dep`,
      'kernel/drivers/nvme/host/nvme-tcp.ko.xz: kernel/drivers/nvme/host/nvme-fabrics.ko.xz',
      true,
    ],
    [`${lists}/modules.dep`, 'kernel/drivers/nvme/target/nvmet-tcp.ko:', false],
    [`${lists}/modules.dep`, 'kernel/drivers/nvme/host/nvme-tcp2.ko:', false],
  ] as const;
  for (const [path, text, works] of rows) {
    const host = createSysfsHost();
    install(host, 'nvme');
    host.put('/proc/sys/kernel/osrelease', '6.1.0-1-amd64');
    host.put(path, text);
    assert.equal((await reasonFor('nvme-tcp', host)) === undefined, works, text);
  }
});
