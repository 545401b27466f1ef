import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMachine } from '../../../../node-agent/host/linux.ts';
import { createSurvey, report } from '../../../../node-agent/plugin/preflight.ts';
import { attachmentFields } from '../../../../src/api/attachment.ts';
import { silentLog, type Log, type LogFields } from '../../../../src/lib/log.ts';
import { prepareNode } from '../../../harness/node/program.ts';
import { createSysfsHost, type SysfsHost } from '../../../fakes/sysfs.ts';

const baseTools = 'mount umount blkid blockdev losetup fsfreeze unshare xargs cmp dd stat'.split(' ');

/** A node that accepts every working protocol. */
const takesAll = () => undefined;

function openMachine(capabilities: string, tools: readonly string[] = baseTools): SysfsHost {
  const host = createSysfsHost();
  for (const tool of tools) host.put(`/usr/bin/${tool}`, '');
  host.put('/proc/self/status', `Name:\tnode\nCapPrm:\t0000000000000000\nCapEff:\t${capabilities}\n`);
  return host;
}

/** Collects the log of a machine's survey, line by line. */
async function logOf(host: SysfsHost): Promise<readonly string[]> {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (text: string, { detail }: LogFields = {}): void =>
      void lines.push(`${level}: ${text}${detail === undefined ? '' : `: ${detail}`}`);
  const log: Log = { ...silentLog, info: line('info'), warn: line('warn') };
  await report({ host, survey: createSurvey(host, takesAll), log });
  return lines;
}

const all = '000001ffffffffff';

test('one line lists the protocols that a node can attach, and the reasons why not for the others', async () => {
  const host = openMachine(all);
  host.put('/sys/module/loop/parameters/max_loop', '0');
  const lines = await logOf(host);
  assert.equal(lines.length, 1);
  assert.match(
    lines[0] ?? '',
    /^info: checked the requirements of attach protocols: usable: loop, bind, device, csi; nfs is not: "mount\.nfs" is not installed on this node; /,
  );
  assert.deepEqual(host.lines, []);
});

test('missing tools that every volume needs, and a missing capability to mount, are reported loudly', async () => {
  const host = openMachine('0000010000000000', ['mount', 'losetup', 'xargs', 'cmp', 'dd', 'stat']);
  const [tools, capability] = await logOf(host);
  assert.equal(
    tools,
    'warn: tools that volumes need are not installed; install them: umount, blkid, blockdev, fsfreeze, unshare',
  );
  assert.match(capability ?? '', /^warn: the agent lacks CAP_SYS_ADMIN/);
});

/** Returns the reason why a protocol does not work; undefined if it does. */
async function reasonFor(protocol: string, host: SysfsHost): Promise<string | undefined> {
  const states = await createSurvey(host, takesAll).ask();
  return states.find(state => state.protocol === protocol)?.reason;
}

test('every protocol is examined, on this machine too, without a command', async () => {
  const states = await createSurvey(createMachine({ timeoutMs: 1 }), takesAll).ask();
  const protocols = states.map(({ protocol }) => protocol);
  assert.deepEqual(protocols, Object.keys(attachmentFields));
});

test('a working protocol that the node does not accept has that as its reason', async () => {
  const host = openMachine('000001ffffffffff');
  const survey = createSurvey(host, protocol => (protocol === 'bind' ? 'it is not taken' : undefined));
  const reasons = Object.fromEntries((await survey.ask()).map(({ protocol, reason }) => [protocol, reason]));
  assert.equal(reasons['bind'], 'it is not taken');
  assert.match(reasons['nfs'] ?? '', /is not installed/);
});

test('a protocol does not work without its tool, its module, or its service, and each is named', async () => {
  const host = openMachine(all, []);
  assert.match((await reasonFor('iscsi', host)) ?? '', /"iscsiadm" is not installed/);
  host.put('/usr/bin/iscsiadm', '');
  assert.match((await reasonFor('iscsi', host)) ?? '', /no module "iscsi_tcp"/);
  host.put('/sys/module/iscsi_tcp/initstate', 'live');
  assert.match((await reasonFor('iscsi', host)) ?? '', /nothing listens on "@ISCSIADM/);
  host.put('/proc/net/unix', '0000: 00000002 00000000 00010000 0001 01 999 @ISCSIADM_ABSTRACT_NAMESPACE');
  assert.equal(await reasonFor('iscsi', host), undefined);
  assert.deepEqual(host.lines, []);
});

test('a module counts if it is loaded, built in, or loadable, and no module of a similar name does', async () => {
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
    const host = openMachine(all, ['nvme']);
    host.put('/proc/sys/kernel/osrelease', '6.1.0-1-amd64');
    host.put(path, text);
    assert.equal((await reasonFor('nvme-tcp', host)) === undefined, works, text);
  }
});

test('the lists of modules are read once for all protocols and all callers, and again after a failure', async () => {
  const host = openMachine(all, [...baseTools, 'nvme', 'iscsiadm', 'mount.nfs', 'tee']);
  host.put('/proc/sys/kernel/osrelease', '6.1.0');
  const { readText } = host;
  let reads = 0;
  let isBroken = true;
  host.readText = async path => {
    if (!path.endsWith('/modules.dep')) return readText(path);
    reads++;
    if (isBroken) throw new Error('not now');
    return readText(path);
  };
  const survey = createSurvey(host, takesAll);
  for (const asked of [survey.ask(), survey.ask()]) await assert.rejects(asked, /not now/);
  assert.deepEqual([reads, survey.known], [1, []]);
  isBroken = false;
  assert.deepEqual(await survey.ask(), await survey.ask());
  assert.equal(reads, 2);
});

test('soon after its start an agent reports its protocols in its log and in its metrics', async t => {
  const agent = prepareNode(t).startAgent({ 'metrics-listen': '127.0.0.1:0' });
  const url = `http://${(await agent.ready)['metrics']}/metrics`;
  await agent.untilLogged(/checked the requirements of attach protocols/);
  const texts = agent
    .stderr()
    .split('\n')
    .map(line => /"msg":"([^"]*)"/.exec(line)?.[1]);
  assert.ok(texts.indexOf('ready') < texts.indexOf('checked the requirements of attach protocols'));
  const text = await (await fetch(url)).text();
  assert.match(text, /^fairlead_node_protocol_usable\{protocol="bind"\} 1$/m);
  assert.match(text, /^fairlead_node_protocol_usable\{protocol="iscsi"\} [01]$/m);
});
