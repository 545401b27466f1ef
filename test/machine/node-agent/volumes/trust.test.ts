import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { Attachment } from '../../../../src/api/attachment.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  isBelowRoot,
  openTrust,
  requireTrusted,
  refusalReason,
} from '../../../../node-agent/volumes/trust.ts';
import { prepareNode } from '../../../harness/node/program.ts';
import { mountsBelow } from '../../../harness/machine.ts';
import {
  block,
  openRealBench,
  openNode,
  putUp,
  real,
  startAgent,
  takeDown,
  withCommands,
} from '../../../harness/node.ts';
import { shareRequest, toDirectory, toExport } from '../../../harness/node/shares.ts';

const refused = { code: 'FAILED_PRECONDITION' };

/** Opens a node with one root, which also contains directories of the agent and of kubelet, and links out of it. */
async function open(t: TestContext, settings: { readonly roots?: readonly string[] } = {}) {
  const volume = await openNode(t, { image: { content: 'ext4' } });
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

/** Returns the machine's own paths unchanged, and other paths on the bench. */
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

test('a node without roots accepts neither, nor a protocol that it does not name', real(), async t => {
  const { agent, request, directory, requestOf, assertNothingDone } = await open(t, { roots: [] });
  for (const attachment of [request.attachment, toDirectory(`${directory}/files/v`), toExport('/export/v')]) {
    await assert.rejects(stage(agent, requestOf(attachment)), {
      ...refused,
      detail: new RegExp(attachment.protocol === 'nfs' ? '--protocols' : '--local-roots'),
    });
    assertNothingDone();
  }
  assert.notEqual(refusalReason(agent.trust, 'loop'), undefined);
});

test("a pool's attachment reaches no file or directory of another pool's root", real(), async t => {
  const { directory, host } = openRealBench(t);
  for (const path of ['a', 'b', 'b/deep', 'any']) mkdirSync(`${directory}/${path}`);
  const poolRoots = [
    { pool: 'a', path: `${directory}/a` },
    { pool: 'b', path: `${directory}/b` },
    { pool: 'a', path: `${directory}/b/deep` },
  ];
  const trust = await openTrust(
    { protocols: ['loop', 'bind'], roots: [`${directory}/any`, directory], poolRoots, own: [] },
    host,
  );
  const isTaken = (path: string, pool?: string): boolean =>
    (['loop', 'bind'] as const).every(protocol => {
      try {
        const rest = { attachmentId: 'x', sizeBytes: 1, readonly: false, mayFormat: false };
        requireTrusted(trust, { protocol, path: `${directory}/${path}`, pool, ...rest });
        return true;
      } catch {
        return false;
      }
    });
  const own = { a: ['a/v', 'b/deep/v', 'any/v', 'v'], b: ['b/v', 'any/v', 'v'], c: ['any/v', 'v'] };
  const others = {
    a: ['b/v', 'b'],
    b: ['a/v', 'b/deep/v', 'b/deep', 'a'],
    c: ['a/v', 'b/v', 'b/deep/v', 'a'],
  };
  for (const [pool, paths] of Object.entries(own))
    assert.deepEqual(
      paths.filter(path => !isTaken(path, pool)),
      [],
      pool,
    );
  for (const [pool, paths] of Object.entries(others))
    assert.deepEqual(
      paths.filter(path => isTaken(path, pool)),
      [],
      pool,
    );
  // A gateway of an earlier release names no pool.
  assert.deepEqual(
    ['a/v', 'b/v', 'b/deep/v', 'a', 'b', '../v', 'any/v', 'v'].filter(path => isTaken(path)),
    ['any/v', 'v'],
  );
  const narrow = { protocols: ['loop'], roots: [], poolRoots: poolRoots.slice(0, 1), own: [] } as const;
  assert.equal(refusalReason(await openTrust(narrow, host), 'loop'), undefined);
  const wrong = { ...narrow, poolRoots: [{ pool: 'a', path: '/etc' }] };
  await assert.rejects(openTrust(wrong, host), /^Error: local root "\/etc"/);
});

test('a volume whose root was removed is not published anew, but taken down', real(), async t => {
  const { agent, bench, request } = await open(t);
  await stage(agent, request);
  const narrowed = { ...(await startAgent(bench)), trust: { ...agent.trust, roots: [] } };
  await assert.rejects(publish(narrowed, request), { ...refused, detail: /--local-roots/ });
  await takeDown(narrowed, request);
});

test(
  "a root itself is not below it, nor is a parent of an agent's directory, even behind a link",
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

test('a root of the system, of kubelet or of the agent is refused, even behind a link', real(), async t => {
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

test('the target of a link in a system directory is neither a volume nor a root', real(), async t => {
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
    ['/data/docker', '/data/docker/volumes', '/data/v', '/lib32/v'].filter(path => isBelowRoot(trust, path)),
    ['/data/v'],
  );
  await assert.rejects(openTrust({ ...settings, roots: ['/data/docker/v'] }, linked), /^Error: local root/);
});

test('an agent with such a root does not start', async t => {
  const node = prepareNode(t);
  const wrong = node.startAgent({ 'local-roots': `/srv,${node.state}/inner` });
  await assert.rejects(wrong.ready);
  assert.match(wrong.stderr(), /local root "[^"]*\/state\/inner" is a directory of the system/);
});

test('a directory that becomes a link after its check is not bound', real(), async t => {
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
  "a file that becomes a link to another one is not used, and the other file's device stays",
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
