import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attachment, AttachmentOf } from '../../../../src/api/attachment.ts';
import { nvmeTcp } from '../../../../node-agent/connectors/nvme-tcp.ts';
import { openNvmeWorld } from '../../../fakes/disks.ts';
import { showDisk } from '../../../fakes/show-disk.ts';
import { mountFake } from '../../../fakes/sysfs.ts';
import { testConnector } from '../../../suites/connector.ts';
import { testConnectorFaults } from '../../../suites/connector-faults.ts';

const MiB = 2 ** 20;
const subsystem = 'nqn.2014-08.org.example:s';
const addresses = ['192.0.2.7:4420', '192.0.2.8:4420'];

function open() {
  const { host, volumes, silent } = openNvmeWorld(subsystem);
  return {
    host,
    silent,
    attach: (_: string, sizeBytes: number): AttachmentOf<'nvme-tcp'> => {
      const number = volumes.size + 1;
      const wwid = `uuid.00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
      volumes.set(wwid, { name: `nvme0n${number}`, sizeBytes });
      return {
        protocol: 'nvme-tcp',
        addresses,
        subsystem,
        wwid,
        attachmentId: 'a',
        sizeBytes,
        readonly: false,
        mayFormat: true,
      };
    },
    resize: ({ wwid }: AttachmentOf<'nvme-tcp'>, sizeBytes: number) => {
      const volume = volumes.get(wwid);
      if (volume) volume.sizeBytes = sizeBytes;
    },
    use: async (path: string) => {
      const release = mountFake(host, path);
      return async () => release();
    },
    controllers: () => host.names('/sys/class/nvme'),
  };
}

testConnector({ name: 'nvme-tcp on the fake machine', skip: undefined, connector: nvmeTcp, open });

testConnectorFaults({
  name: 'nvme-tcp',
  connector: nvmeTcp,
  open() {
    const { host, attach, controllers } = open();
    return { host, attachment: attach('vol1', MiB), left: controllers };
  },
});

test('nvme-tcp connects to each address, with what holds for its connections', async () => {
  const { host, attach } = open();
  await nvmeTcp.connect({ ...attach('v', MiB), addresses: ['192.0.2.7:4420', '[2001:db8::7]:4421'] }, host);
  const rest = `--nqn=${subsystem} --ctrl-loss-tmo=600 --reconnect-delay=2 --keep-alive-tmo=5`;
  assert.deepEqual(host.lines, [
    'modprobe --quiet -- nvme_tcp',
    `nvme connect --transport=tcp --traddr=192.0.2.7 --trsvcid=4420 ${rest}`,
    `nvme connect --transport=tcp --traddr=2001:db8::7 --trsvcid=4421 ${rest}`,
  ]);
});

test('nvme-tcp does without an address that does not answer, and adds it when it does', async () => {
  const { host, attach, silent, controllers } = open();
  const attachment = attach('v', MiB);
  for (const address of addresses) silent.add(address);
  await assert.rejects(nvmeTcp.connect(attachment, host), { code: 'UNAVAILABLE' });
  silent.delete('192.0.2.8:4420');
  const device = await nvmeTcp.connect(attachment, host);
  assert.equal(controllers().length, 1);
  silent.clear();
  assert.deepEqual(await nvmeTcp.connect(attachment, host), device);
  assert.equal(controllers().length, 2);
});

test('nvme-tcp keeps the controllers that another volume may need, or somebody uses', async () => {
  const { host, attach, use, controllers } = open();
  const one = attach('one', MiB);
  const two: Attachment = attach('two', MiB);
  await nvmeTcp.connect(one, host);
  const { path } = await nvmeTcp.connect(two, host);
  await nvmeTcp.disconnect(one, host, () => [two]);
  assert.equal(controllers().length, 2);
  const release = await use(path);
  await nvmeTcp.disconnect(one, host);
  assert.equal(controllers().length, 2);
  await release();
  host.put('/sys/class/nvme/nvme9/subsysnqn', subsystem);
  host.put('/sys/class/nvme/nvme9/transport', 'tcp');
  host.put('/sys/class/nvme/nvme9/address', 'traddr=192.0.2.9,trsvcid=4420');
  await nvmeTcp.disconnect(two, host);
  assert.deepEqual(controllers(), ['nvme9']);
});

test('nvme-tcp knows a namespace by any of its identifiers, and no partition of it', async () => {
  const { host } = open();
  const nguid = '00112233-4455-6677-8899-aabbccddeeff';
  showDisk(
    host,
    { name: 'nvme0n7', sizeBytes: MiB },
    { dev: '259:7', wwid: 'nvme.1af4-1', nguid, eui: '00 11 22 33 44 55 66 77' },
  );
  showDisk(
    host,
    { name: 'nvme0n7p1', sizeBytes: MiB },
    { dev: '259:8', partition: '1', wwid: 'eui.0011223344556677' },
  );
  const { attach } = open();
  const rows = [
    ['eui.00112233445566778899aabbccddeeff', '259:7', true],
    ['eui.0011223344556677', '259:7', true],
    ['eui.0011223344556677', '259:8', false],
    ['eui.001122334455667', '259:7', false],
    ['nvme.1af4-1', '259:9', false],
  ] as const;
  for (const [wwid, number, isOwn] of rows)
    assert.equal(await nvmeTcp.owns({ ...attach('v', MiB), wwid }, number, host), isOwn, `${wwid} ${number}`);
});

test('nvme-tcp refuses two disks that say the same, and names that are none', async () => {
  const { host, attach } = open();
  const attachment = attach('v', MiB);
  const facts = { wwid: attachment.wwid, 'device/subsysnqn': subsystem };
  showDisk(host, { name: 'nvme5n1', sizeBytes: MiB }, facts);
  await assert.rejects(nvmeTcp.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
    detail: /more than one/,
  });
  for (const wwid of ['nvme.1af4-1', 'uuid.1', 'eui.', 'naa.600'])
    await assert.rejects(nvmeTcp.connect({ ...attachment, wwid }, host), { code: 'INVALID_ARGUMENT' });
  for (const name of ['-x', 'nqn.a b', '', 'iqn.x'])
    await assert.rejects(nvmeTcp.connect({ ...attachment, subsystem: name }, host), {
      code: 'INVALID_ARGUMENT',
    });
});

test('nvme-tcp refuses several addresses where the kernel makes a device of each', async () => {
  const { host, attach } = open();
  host.put('/sys/module/nvme_core/parameters/multipath', 'N');
  const attachment = attach('v', MiB);
  await assert.rejects(nvmeTcp.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
    detail: /multipath/,
  });
  await nvmeTcp.connect({ ...attachment, addresses: ['192.0.2.7:4420'] }, host);
});
