import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { Attachment } from '../../../../src/api/attachment.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { isBelowRoot, openTrust, whyRefused } from '../../../../node-agent/volumes/trust.ts';
import { openNode } from '../../../harness/agent.ts';
import { mountsBelow } from '../../../harness/machine.ts';
import {
  block,
  openRealBench,
  openVolume,
  putUp,
  real,
  startAgent,
  takeDown,
  withCommands,
} from '../../../harness/node-agent-bench.ts';
import { shareRequest, toDirectory, toExport } from '../../../harness/node-agent-share-bench.ts';

const refused = { code: 'FAILED_PRECONDITION' };

/** A node with one root, which holds directories of the agent and of kubelet as well, and links that lead out of it. */
async function open(t: TestContext, settings: { readonly roots?: readonly string[] } = {}) {
  const volume = await openVolume(openRealBench(t), { image: { content: 'ext4' } });
  const { bench, request } = volume;
  const { directory, host } = bench;
  for (const path of ['files', 'files/v', 'state/inner']) mkdirSync(`${directory}/${path}`);
  copyFileSync(request.attachment.path, `${directory}/state/image`);
  symlinkSync('/etc', `${directory}/files/link`);
  symlinkSync(`${directory}/state/image`, `${directory}/files/link-to-image`);
  const trust = await openTrust(
    {
      protocols: ['loop', 'bind'],
      roots: settings.roots ?? [directory],
      own: ['state', 'pods', 'stage'].map(name => `${directory}/${name}`),
    },
    host,
  );
  const agent: Agent = { ...volume.agent, trust };
  const requestOf = (attachment: Attachment) =>
    attachment.protocol === 'loop' ? { ...request, attachment } : shareRequest(bench, attachment);
  const assertNothingDone = (): void => {
    assert.equal(agent.records.get('c.v'), undefined);
    assert.deepEqual(mountsBelow(directory), []);
  };
  return { ...volume, agent, directory, requestOf, assertNothingDone };
}

const directories = [
  '/',
  '/etc',
  '/var/lib',
  '',
  '/state',
  '/state/inner',
  '/pods',
  '/files/../state',
  '/files//v',
  '/files/v/',
  '/files/link',
  '/files/link/ssl',
  '-elsewhere',
];
const files = ['/etc/hostname', '/state/image', '/files/../state/image', '/files/link-to-image', '/dev/zero'];

/** Paths of the machine's own as they are, and others on the bench. */
function pathOf(directory: string, path: string): string {
  return path === '/' || /^\/(etc|var|dev)/.test(path) ? path : `${directory}${path}`;
}

test(
  'a directory is bound only below a root, and none of the system, kubelet or the agent',
  real(),
  async t => {
    const { agent, directory, requestOf, assertNothingDone } = await open(t);
    for (const path of directories) {
      const request = requestOf(toDirectory(pathOf(directory, path)));
      await assert.rejects(stage(agent, request), refused, path);
      assertNothingDone();
    }
    const allowed = requestOf(toDirectory(`${directory}/files/v`));
    await putUp(agent, allowed);
    await takeDown(agent, allowed);
  },
);

test('a file is used only below a root, and none of the system or the agent', real(), async t => {
  const { agent, request, directory, requestOf, assertNothingDone } = await open(t);
  for (const path of files)
    for (const capability of [request.capability, block]) {
      const asked = requestOf({ ...request.attachment, path: pathOf(directory, path) });
      await assert.rejects(stage(agent, { ...asked, capability }), refused, path);
      assertNothingDone();
    }
  await putUp(agent, request);
  await takeDown(agent, request);
});

test('a node without roots takes neither, nor a protocol that it does not name', real(), async t => {
  const { agent, request, directory, requestOf, assertNothingDone } = await open(t, { roots: [] });
  for (const attachment of [request.attachment, toDirectory(`${directory}/files/v`), toExport('/export/v')]) {
    await assert.rejects(stage(agent, requestOf(attachment)), {
      ...refused,
      detail: new RegExp(attachment.protocol === 'nfs' ? '--protocols' : '--local-roots'),
    });
    assertNothingDone();
  }
  assert.notEqual(whyRefused(agent.trust, 'loop'), undefined);
});

test('a volume whose root was taken away is not published anew, but taken down', real(), async t => {
  const { agent, bench, request } = await open(t);
  await stage(agent, request);
  const narrowed = { ...(await startAgent(bench)), trust: { ...agent.trust, roots: [] } };
  await assert.rejects(publish(narrowed, request), { ...refused, detail: /--local-roots/ });
  await takeDown(narrowed, request);
});

test(
  'below a root is not the root, nor what holds a directory of the agent, also one behind a link',
  real(),
  async t => {
    const { directory, host } = openRealBench(t);
    for (const path of ['root', 'root/v', 'root/deep', 'root/deep/state']) mkdirSync(`${directory}/${path}`);
    symlinkSync(`${directory}/root/deep/state`, `${directory}/link`);
    const roots = [`${directory}/root`];
    const trust = await openTrust({ protocols: ['bind'], roots, own: [`${directory}/link`] }, host);
    const isTaken = (path: string): boolean => isBelowRoot(trust, `${directory}/${path}`);
    const wrong = [
      'root',
      'root/deep',
      'root/deep/state',
      'root/deep/state/v',
      'root/v/',
      'root/../root/v',
      'v',
    ];
    assert.deepEqual(wrong.filter(isTaken), []);
    assert.ok(isTaken('root/v') && isTaken('root/deep/v'));
    const alone = await openTrust({ protocols: ['bind'], roots, own: [] }, host);
    assert.deepEqual(
      [...roots, `${roots[0]}/v`].map(path => isBelowRoot(alone, path)),
      [false, true],
    );
  },
);

test('a root of the system, of kubelet or of the agent is refused, also behind a link', real(), async t => {
  const { directory, host } = openRealBench(t);
  symlinkSync('/etc', `${directory}/link`);
  const own = [`${directory}/state`, '/'];
  const wrong = [
    '/',
    '/etc',
    '/usr/share',
    '/var/lib/kubelet/pods',
    ...['state', 'link'].map(name => `${directory}/${name}`),
  ];
  for (const root of wrong)
    await assert.rejects(openTrust({ protocols: [], roots: [root], own }, host), /^Error: local root/, root);
});

test(
  'where a directory of the system is a link, what it leads to is no volume, nor a root',
  real(),
  async t => {
    const { host } = openRealBench(t);
    const links = new Map([
      ['/var/lib/docker', '/data/docker'],
      ['/var/spool', '/'],
    ]);
    const missing = Object.assign(new Error('missing'), { code: 'ENOENT' });
    const linked = {
      ...host,
      realPath: async (path: string): Promise<string> => {
        if (path === '/lib32') throw missing;
        return links.get(path) ?? path;
      },
    };
    const settings = { protocols: ['bind'], own: [] } as const;
    const trust = await openTrust({ ...settings, roots: ['/data'] }, linked);
    assert.deepEqual(
      ['/data/docker', '/data/docker/volumes', '/data/v', '/lib32/v'].filter(path =>
        isBelowRoot(trust, path),
      ),
      ['/data/v'],
    );
    await assert.rejects(openTrust({ ...settings, roots: ['/data/docker/v'] }, linked), /^Error: local root/);
  },
);

test('an agent that gets such a root does not start', async t => {
  const node = openNode(t);
  const wrong = node.startAgent({ 'local-roots': `/srv,${node.state}/inner` });
  await assert.rejects(wrong.ready);
  assert.match(wrong.stderr(), /local root "[^"]*\/state\/inner" is a directory of the system/);
});

test('a directory that becomes a link after it was looked at is not bound', real(), async t => {
  const { agent, directory, requestOf } = await open(t);
  const path = `${directory}/files/v`;
  const swapping = withCommands(agent, command => {
    if (command === 'mount') {
      renameSync(path, `${path}-moved`);
      symlinkSync('/etc', path);
    }
    return undefined;
  });
  const request = requestOf(toDirectory(path));
  await assert.rejects(stage(swapping, request), { code: 'UNAVAILABLE' });
  assert.deepEqual(mountsBelow(directory), []);
  await unstage(agent, request);
});

test(
  "a file that becomes a link to another one is not used, and that one's device stays",
  real(),
  async t => {
    const { agent, bench, request, directory } = await open(t);
    const { path } = request.attachment;
    const foreign = `${directory}/state/image`;
    const device = execFileSync('losetup', ['--find', '--show', foreign], { encoding: 'utf8' }).trim();
    const swapping = withCommands(agent, (command, args) => {
      if (command === 'losetup' && args.includes('--find')) {
        rmSync(path);
        symlinkSync(foreign, path);
      }
      return undefined;
    });
    await assert.rejects(stage(swapping, request), refused);
    assert.deepEqual(mountsBelow(directory), []);
    const { stdout } = await bench.host.run('losetup', [
      '--noheadings',
      '--list',
      '--output',
      'NAME',
      '--associated',
      foreign,
    ]);
    assert.equal(stdout.trim(), device);
  },
);
