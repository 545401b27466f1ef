import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireShareable } from '../../../../gateway/attachments/access-modes.ts';
import { groupByNode } from '../../../../gateway/attachments/record.ts';
import { noTurn } from '../../../../gateway/attachments/trim-turns.ts';
import {
  type AttachmentRecord,
  attachmentTable,
  findDecisiveAttachments,
} from '../../../../gateway/tables/attachments.ts';
import { accessModes, type AccessMode } from '../../../../src/api/storage.ts';
import { openGateway } from '../../../harness/gateway.ts';

type Use = { readonly accessMode: AccessMode; readonly readonly: boolean; readonly mayReplay?: true };

const readers: Use = { accessMode: 'MULTI_NODE_READER_ONLY', readonly: true };
const readersOfOne: Use = { accessMode: 'MULTI_NODE_SINGLE_WRITER', readonly: true };
const writers: Use = { accessMode: 'MULTI_NODE_MULTI_WRITER', readonly: false };

/** The uses of most nodes and of the last one. Each could be attached beside all others. */
const uses: readonly (readonly [most: Use, last: Use])[] = [
  [readers, readers],
  [readers, { ...readers, mayReplay: true }],
  [readers, writers],
  [readers, { ...readersOfOne, accessMode: 'MULTI_NODE_MULTI_WRITER' }],
  [readersOfOne, readersOfOne],
  [readersOfOne, { ...readersOfOne, readonly: false }],
  [readersOfOne, readers],
  [writers, writers],
  [writers, readers],
];

const volumeId = 'a.pvc-1';
const nodeCount = 50;

function toRecord({ accessMode, readonly, mayReplay }: Use, nodeId: string): AttachmentRecord {
  const reach = { protocol: 'loop', path: '/dev/shm/a', ...(mayReplay && { mayReplay }) } as const;
  const capability = { accessType: 'block', accessMode } as const;
  const made = { attachmentId: nodeId, state: 'attached', reach, sizeBytes: 1, ...noTurn } as const;
  return { volumeId, cluster: 'a', nodeId, capability, readonly, ...made };
}

for (const [most, last] of uses)
  test(`few of many nodes decide as all of them would: ${JSON.stringify([most, last])}`, async t => {
    const { engine } = await openGateway(t, { volumes: ['pvc-1'] });
    const names = Array.from({ length: nodeCount }, (_, index) => `n${100 + index}`);
    const all = names.map((name, index) => toRecord(index === nodeCount - 1 ? last : most, name));
    await engine.transaction(async sql => {
      for (const one of all) await attachmentTable.add(sql, one);
    });
    for (const nodeId of ['n090', 'n110', 'n200'])
      for (const accessMode of accessModes)
        for (const readonly of [true, false]) {
          const asked = toRecord({ accessMode, readonly }, nodeId);
          const some = await findDecisiveAttachments(engine.reader, asked);
          const [ofAll, ofSome] = [groupByNode(all, asked), groupByNode(some, asked)];
          assert.deepEqual(ofSome.before, ofAll.before, nodeId);
          const isRefused = (others: readonly AttachmentRecord[]): boolean => {
            try {
              requireShareable(others, asked);
              return false;
            } catch {
              return true;
            }
          };
          assert.equal(isRefused(ofSome.others), isRefused(ofAll.others), `${accessMode} ${readonly}`);
        }
  });
