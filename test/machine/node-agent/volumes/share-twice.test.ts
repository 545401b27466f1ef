import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { test } from 'node:test';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import { openRealBench, startAgent, whyNoMachine } from '../../../harness/node-agent-bench.ts';
import {
  makeDirectoryVolume,
  openFakeShares,
  shareRequest,
} from '../../../harness/node-agent-share-bench.ts';

const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };

type Request = StageRequest & PublishRequest;

/** The same for another volume, at other paths, which one pod alone may write. */
function asVolume(request: Request, name: string): Request {
  return {
    ...request,
    volumeId: `c.${name}`,
    stagingPath: request.stagingPath.replace(/v$/, name),
    targetPath: request.targetPath.replace(/v$/, name),
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_SINGLE_WRITER' },
  };
}

for (const protocol of ['bind', 'nfs'] as const)
  test(`two volumes that are one share (${protocol}) come and go each by itself`, async () => {
    const bench = openFakeShares();
    const agent = await startAgent(bench);
    const request = shareRequest(bench, bench[protocol]('v'));
    const [a, b] = [asVolume(request, 'a'), asVolume(request, 'b')];
    for (const each of [a, b]) await stage(agent, each);
    for (const each of [a, b]) await publish(agent, each);
    await assert.rejects(unstage(agent, a), {
      code: 'FAILED_PRECONDITION',
      detail: /published at ".*\/pods\/a"/,
    });
    for (const each of [a, b]) await unpublish(agent, each);
    for (const each of [a, b]) await unstage(agent, each);
    assert.deepEqual(agent.records.all(), []);
  });

test(
  'two volumes of one directory of this machine, and one within them, come and go each by itself',
  real,
  async t => {
    const bench = openRealBench(t);
    const agent = await startAgent(bench);
    const outer = shareRequest(bench, makeDirectoryVolume(bench, 'v'));
    const inner = shareRequest(bench, makeDirectoryVolume(bench, 'v/within'));
    const all = [asVolume(outer, 'a'), asVolume(outer, 'b'), asVolume(inner, 'c')];
    for (const { stagingPath, targetPath } of all)
      for (const path of [stagingPath, targetPath]) mkdirSync(path, { recursive: true });
    for (const each of all) await stage(agent, each);
    for (const each of all) await publish(agent, each);
    for (const each of all) await unpublish(agent, each);
    for (const each of all) await unstage(agent, each);
    assert.deepEqual(agent.records.all(), []);
  },
);
