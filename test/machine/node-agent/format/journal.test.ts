import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { FilesystemName } from '../../../../src/api/filesystems.ts';
import { filesystems } from '../../../../node-agent/filesystems/index.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { openRealBench, openNode, real, startAgent, type LoopRequest } from '../../../harness/node.ts';
import { hashData } from '../../../harness/values.ts';

const records = Array.from({ length: 20 }, (_, index) => String(index));

/** Opens a volume whose pod wrote 20 durable records, and a copy of its image from that moment. */
async function openUnclean(t: TestContext, fsType: FilesystemName) {
  const bench = openRealBench(t);
  const { agent, request: source } = await openNode(bench, { capability: { fsType } });
  await stage(agent, source);
  const wal = `${source.stagingPath}/wal`;
  // Older than the records, as in a database: only the journal has the records.
  execFileSync('sync', ['--file-system', source.stagingPath]);
  mkdirSync(wal);
  for (const name of records) {
    commit(`${wal}/${name}.tmp`, name.repeat(800));
    renameSync(`${wal}/${name}.tmp`, `${wal}/${name}`);
    syncDirectory(wal);
  }
  syncDirectory(source.stagingPath);
  const path = bench.copyImage(source.attachment.path);
  const copy = (change: Partial<LoopRequest['attachment']>): LoopRequest => ({
    ...source,
    volumeId: 'c.copy',
    stagingPath: `${bench.directory}/stage/copy`,
    attachment: {
      ...source.attachment,
      attachmentId: 'copy',
      path,
      mayFormat: false,
      readonly: true,
      ...change,
    },
  });
  return { bench, agent, source, path, copy };
}

function commit(path: string, text: string): void {
  const file = openSync(path, 'w');
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

for (const { name } of filesystems) {
  test(
    `a reader of a ${name} that was not unmounted cleanly sees every record`,
    real(`mkfs.${name}`),
    async t => {
      const { agent, source, copy, path } = await openUnclean(t, name);
      // The source stays mounted, as when a backup reads the restored snapshot.
      const request = copy({ mayReplay: true });
      await stage(agent, request);
      const wal = `${request.stagingPath}/wal`;
      assert.deepEqual(readdirSync(wal).toSorted(), records.toSorted());
      for (const record of records)
        assert.equal(readFileSync(`${wal}/${record}`, 'utf8'), record.repeat(800));
      const device = agent.records.get(request.volumeId)?.device;
      assert.equal(device?.readonly, true);
      assert.throws(() =>
        execFileSync('dd', ['if=/dev/zero', `of=${device?.path}`, 'count=1'], { stdio: 'ignore' }),
      );
      const replayed = hashData(path);
      await unstage(agent, request);
      // Once the journal is replayed, nothing is written any more.
      await stage(agent, request);
      await unstage(agent, request);
      assert.equal(hashData(path), replayed);
      await unstage(agent, source);
    },
  );

  test(`a ${name} with a journal is refused if the node may not write`, real(`mkfs.${name}`), async t => {
    const { agent, source, copy, path } = await openUnclean(t, name);
    const before = hashData(path);
    for (const attachment of [{}, { mayReplay: false }]) {
      await assert.rejects(stage(agent, copy(attachment)), {
        code: 'FAILED_PRECONDITION',
        detail: /^volume "c\.copy" was not unmounted cleanly; mount it once for writing: /,
      });
      assert.equal(agent.records.get('c.copy'), undefined);
    }
    assert.equal(hashData(path), before);
    // Once it was mounted for writing, every reader sees the records.
    const written = copy({ readonly: false, attachmentId: 'writer' });
    await stage(agent, written);
    await unstage(agent, written);
    const request = copy({ attachmentId: 'reader' });
    await stage(agent, request);
    assert.equal(readdirSync(`${request.stagingPath}/wal`).length, records.length);
    await unstage(agent, request);
    await unstage(agent, source);
  });

  test(
    `a ${name} that an agent left connected for writing is staged read-only`,
    real(`mkfs.${name}`),
    async t => {
      const { bench, source, copy, path } = await openUnclean(t, name);
      execFileSync('losetup', ['--find', '--', path]);
      const agent = await startAgent(bench);
      const request = copy({ mayReplay: true });
      await stage(agent, request);
      assert.equal(agent.records.get(request.volumeId)?.device?.readonly, true);
      assert.equal(readdirSync(`${request.stagingPath}/wal`).length, records.length);
      await unstage(agent, request);
      await unstage(agent, source);
    },
  );
}
