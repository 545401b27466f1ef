import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  openFakeBench,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
  type Bench,
} from '../../../harness/node-agent-bench.ts';

type Setting = {
  readonly agent: Agent;
  readonly bench: Bench;
  readonly request: ReturnType<typeof requestFor>;
};

const machines = [
  { name: 'the fake machine', skip: undefined, open: () => openFakeBench() },
  { name: 'this machine', skip: whyNoMachine, open: openRealBench },
];

for (const { name, skip, open } of machines) {
  const check = (title: string, work: (setting: Setting) => Promise<void>): void => {
    test(`${title} (${name})`, skip === undefined ? {} : { skip }, async (t: TestContext) => {
      const bench = open(t);
      const request = requestFor(bench, bench.makeImage('image'));
      const agent = await startAgent(bench);
      await work({ agent, bench, request });
    });
  };

  check('unpublish of an unknown volume is fine', async ({ agent, request }) => {
    await unpublish(agent, request);
  });

  check('unpublish of a target whose parent is missing is fine', async ({ agent, request }) => {
    await unpublish(agent, { ...request, targetPath: `${request.targetPath}/a/b` });
  });

  check('unpublish again is fine', async ({ agent, request }) => {
    await stage(agent, request);
    await publish(agent, request);
    await unpublish(agent, request);
    await unpublish(agent, request);
    await unstage(agent, request);
  });

  check('unpublish removes a target that is an empty directory', async ({ agent, bench, request }) => {
    await bench.host.makeDirectory(request.targetPath);
    await unpublish(agent, request);
    assert.equal(await bench.host.kindOf(request.targetPath), 'nothing');
  });

  check('unpublish removes a target that is a file', async ({ agent, bench, request }) => {
    await bench.host.makeFile(request.targetPath);
    await unpublish(agent, request);
    assert.equal(await bench.host.kindOf(request.targetPath), 'nothing');
  });

  check('unpublish takes down mounts that are stacked', async ({ agent, bench, request }) => {
    await stage(agent, request);
    await publish(agent, request);
    for (let i = 0; i < 2; i++)
      await bench.host.run('mount', ['--bind', '--', request.stagingPath, request.targetPath]);
    await unpublish(agent, request);
    assert.equal(await bench.host.kindOf(request.targetPath), 'nothing');
    await unstage(agent, request);
  });

  check(
    'unpublish keeps a directory that is not mounted and not empty',
    async ({ agent, bench, request }) => {
      await bench.host.makeDirectory(request.targetPath);
      await bench.host.makeFile(`${request.targetPath}/file`);
      await assert.rejects(unpublish(agent, request), {
        code: 'FAILED_PRECONDITION',
        detail: `target_path "${request.targetPath}" is not mounted and not empty`,
      });
      assert.equal(await bench.host.kindOf(`${request.targetPath}/file`), 'file');
    },
  );

  check('unpublish touches nothing while something is mounted below', async ({ agent, bench, request }) => {
    await stage(agent, request);
    await bench.host.makeDirectory(request.targetPath);
    await bench.host.makeDirectory(`${request.targetPath}/below`);
    await bench.host.run('mount', ['--bind', '--', request.stagingPath, `${request.targetPath}/below`]);
    await assert.rejects(unpublish(agent, request), { code: 'FAILED_PRECONDITION' });
    await bench.host.run('umount', ['--', `${request.targetPath}/below`]);
    await bench.host.removeDirectory(`${request.targetPath}/below`);
    await unpublish(agent, request);
    await unstage(agent, request);
  });

  check('a staging path is no target, to publish at or to unpublish', async ({ agent, bench, request }) => {
    await stage(agent, request);
    const atStaging = { ...request, targetPath: request.stagingPath };
    await assert.rejects(publish(agent, atStaging), { code: 'INVALID_ARGUMENT' });
    for (const volumeId of ['c.v', 'c.other'])
      await assert.rejects(unpublish(agent, { ...atStaging, volumeId }), { code: 'FAILED_PRECONDITION' });
    const record = agent.records.get('c.v');
    assert.ok(record);
    await agent.records.put({ ...record, targets: [{ path: request.stagingPath, readonly: false }] });
    await assert.rejects(unpublish(agent, atStaging), { code: 'FAILED_PRECONDITION' });
    const mounts = await bench.host.mounts();
    assert.equal(mounts.filter(({ path }) => path === request.stagingPath).length, 1);
    await unstage(agent, request);
  });

  check('unstage of an unknown volume is fine', async ({ agent, request }) => {
    await unstage(agent, request);
  });

  check('unstage again is fine', async ({ agent, request }) => {
    await stage(agent, request);
    await unstage(agent, request);
    await unstage(agent, request);
  });

  check('unstage is refused while a target is published, and names it', async ({ agent, request }) => {
    await stage(agent, request);
    await publish(agent, request);
    await assert.rejects(unstage(agent, request), {
      code: 'FAILED_PRECONDITION',
      detail: `volume "c.v" is still published at "${request.targetPath}"`,
    });
    await unpublish(agent, request);
    await unstage(agent, request);
  });

  check(
    'unstage is refused while a target is published that no record knows of',
    async ({ agent, bench, request }) => {
      await stage(agent, request);
      await publish(agent, request);
      await agent.records.remove(request.volumeId);
      const next = await startAgent(bench);
      await stage(next, request);
      await assert.rejects(unstage(next, request), {
        code: 'FAILED_PRECONDITION',
        detail: `volume "c.v" is still published at "${request.targetPath}"`,
      });
      await publish(next, request);
      await unpublish(next, request);
      await unstage(next, request);
    },
  );

  check(
    "stage does not reuse another volume's mount, and unstage leaves it",
    async ({ agent, bench, request }) => {
      const other = {
        ...request,
        volumeId: 'c.other',
        attachment: { ...request.attachment, path: bench.makeImage('other') },
      };
      await stage(agent, other);
      await assert.rejects(stage(agent, request), {
        code: 'FAILED_PRECONDITION',
        detail: /is not volume "c.v"/,
      });
      await assert.rejects(unstage(agent, request), {
        code: 'FAILED_PRECONDITION',
        detail: /is not volume "c.v"/,
      });
      await unstage(agent, other);
      await stage(agent, request);
      await unstage(agent, request);
    },
  );

  check('publish after the staging mount was lost is refused', async ({ agent, bench, request }) => {
    await stage(agent, request);
    await bench.host.run('umount', ['--', request.stagingPath]);
    await assert.rejects(publish(agent, request), {
      code: 'FAILED_PRECONDITION',
      detail: /is not mounted at/,
    });
    await unstage(agent, request);
  });

  check('stage goes on after a reboot with another attachment', async ({ agent, bench, request }) => {
    await stage(agent, request);
    await publish(agent, request);
    await bench.host.run('umount', ['--', request.targetPath]);
    await bench.host.run('umount', ['--', request.stagingPath]);
    const rebooted = await startAgent(bench);
    const attachment = { ...request.attachment, attachmentId: 'attachment-2' };
    await stage(rebooted, { ...request, attachment });
    await unpublish(rebooted, request);
    await unstage(rebooted, request);
  });
}
