import { snapshotNamed, volumeNamed, type Disk } from '../../../../examples/vendor-hono/disk.ts';
import { openRecord } from '../features/groups-and-nodes.ts';
import { changeAnswer, type Breakage, type Members } from '../breakage.ts';

/** Faults that take one resource or request for another, and rights that outlive their end. */
export const rights = {
  'ids-cut-off': {
    wrong: 'only the first 100 characters of a volume id count',
    caughtBy: 'FL-1.1-4',
    fetch: right => async request => {
      const url = new URL(request.url);
      const [, prefix = '', id = '', rest = ''] = /^(\/v1\/volumes\/)([^/]+)(.*)$/.exec(url.pathname) ?? [];
      if (id.length <= 100) return right(request);
      url.pathname = `${prefix}${id.slice(0, 100)}${rest}`;
      const answer = await right(new Request(url, request));
      if (!answer.headers.get('content-type')?.startsWith('application/json')) return answer;
      return Response.json({ ...((await answer.json()) as object), id }, { status: answer.status });
    },
  },
  'snapshot-ids-without-case': {
    wrong: 'snapshot ids that differ only in case are the same snapshot',
    caughtBy: 'FL-1.1-4',
    operations: right => ({
      createSnapshot: asked => changeAnswer(right.createSnapshot(lower(asked)), () => shown(asked)),
      getSnapshot: asked => changeAnswer(right.getSnapshot(lower(asked)), () => shown(asked)),
      deleteSnapshot: asked => right.deleteSnapshot(lower(asked)),
    }),
  },
  'expand-prefix': {
    wrong: 'expanding a volume expands all whose ids begin with its id',
    caughtBy: 'FL-3.5-6',
    operations: (right, disk) => ({
      async expandVolume(asked) {
        for (const { id } of disk.list('volume'))
          if (id.startsWith(asked.volumeId)) await right.expandVolume({ ...asked, volumeId: id });
        return right.expandVolume(asked);
      },
    }),
  },
  'modify-all': {
    wrong: 'modifying a volume modifies all volumes',
    caughtBy: 'FL-3.6-4',
    operations: (right, disk) => ({
      modifyVolume(asked) {
        for (const { id } of disk.list('volume')) right.modifyVolume({ ...asked, volumeId: id });
        return right.modifyVolume(asked);
      },
    }),
  },
  'attach-suffix': {
    wrong: 'attaching a volume attaches all whose ids end with its id',
    caughtBy: 'FL-4.1-10',
    operations: (right, disk) => ({
      attachVolume(asked) {
        for (const { id, attached } of disk.list('volume'))
          if (id !== asked.volumeId && id.endsWith(asked.volumeId) && !attached)
            right.attachVolume({ ...asked, volumeId: id });
        return right.attachVolume(asked);
      },
    }),
  },
  'source-ignored': {
    wrong: 'the same URL with another source returns the existing copy',
    caughtBy: 'FL-3.2-3',
    operations: (right, disk) => ({
      createVolume(asked) {
        const found = disk.find(volumeNamed(asked.volumeId));
        const isCopy = found !== undefined && 'source' in found.spec;
        return isCopy && asked.body.source ? right.getVolume(asked) : right.createVolume(asked);
      },
    }),
  },
  'mutable-ignored': {
    wrong: 'the same URL with other mutable parameters returns the existing volume',
    caughtBy: 'FL-3.2-3',
    operations: (right, disk) => ({
      createVolume(asked) {
        const found = disk.find(volumeNamed(asked.volumeId));
        if (!found || !('mutableParameters' in found.spec)) return right.createVolume(asked);
        const mutableParameters = found.spec.mutableParameters as Readonly<Record<string, string>>;
        return right.createVolume({ ...asked, body: { ...asked.body, mutableParameters } });
      },
    }),
  },
  'access-ignored': {
    wrong: 'the same URL with another access type returns the existing attachment',
    caughtBy: 'FL-4.1-3',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const spec = disk.find(volumeNamed(asked.volumeId))?.attached?.spec;
        if (!spec) return right.attachVolume(asked);
        const { accessType } = spec.capability;
        const capability = { ...asked.body.capability, accessType };
        return right.attachVolume({ ...asked, body: { ...asked.body, capability } });
      },
    }),
  },
  'readonly-stays': {
    wrong: 'a volume that was attached for reading is attached for reading ever after',
    caughtBy: 'FL-4.1-4',
    operations: right => {
      const read = new Set<string>();
      const readonlyOf = (volumeId: string) => (resource: Members) =>
        read.has(volumeId)
          ? { readonly: true, attachment: { ...(resource['attachment'] as object), readonly: true } }
          : {};
      return {
        attachVolume(asked) {
          if (asked.body.readonly) read.add(asked.volumeId);
          return changeAnswer(right.attachVolume(asked), readonlyOf(asked.volumeId));
        },
      };
    },
  },
  'parameters-stay': {
    wrong: 'a volume with the id of a deleted one has the mutable parameters of the deleted one',
    caughtBy: 'FL-3.2-6',
    operations: (right, disk) => {
      const deleted = new Map<string, Readonly<Record<string, string>>>();
      return {
        deleteVolume(asked) {
          const parameters = disk.find(volumeNamed(asked.volumeId))?.mutableParameters;
          const answer = right.deleteVolume(asked);
          if (parameters) deleted.set(asked.volumeId, parameters);
          return answer;
        },
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          const parameters = deleted.get(asked.volumeId);
          if (answer[0] !== 201 || !parameters) return answer;
          return right.modifyVolume({ ...asked, body: { mutableParameters: parameters } });
        },
      };
    },
  },
  'attach-queued': {
    wrong: 'a refused node gets the volume once it is free',
    caughtBy: 'FL-4.2-1',
    operations: (right, disk) => {
      const waiting = new Map<string, Parameters<typeof right.attachVolume>[0]>();
      return {
        attachVolume(asked) {
          const holder = disk.find(volumeNamed(asked.volumeId))?.attached?.resource.nodeId;
          if (holder !== undefined && holder !== asked.nodeId) waiting.set(asked.volumeId, asked);
          return right.attachVolume(asked);
        },
        detachVolume(asked) {
          const answer = right.detachVolume(asked);
          const next = waiting.get(asked.volumeId);
          waiting.delete(asked.volumeId);
          if (next && next.nodeId !== asked.nodeId) right.attachVolume(next);
          return answer;
        },
      };
    },
  },
  'format-after-restart': {
    wrong: 'a vendor knows only until a restart which volumes may not be formatted',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      for (const volume of disk.list('volume')) disk.put({ ...volume, holdsData: false });
      return { getVolume: asked => right.getVolume(asked) };
    },
  },
  'token-of-deleted': {
    wrong: 'a list ends if the last entry of the page before was deleted',
    caughtBy: 'FL-6.2-1',
    operations: (right, disk) => ({
      listVolumes(asked) {
        const isGone = isDeleted(disk, 'volume', asked.pageToken);
        return isGone ? [200, { volumes: [] }] : right.listVolumes(asked);
      },
    }),
  },
  'token-of-deleted-snapshot': {
    wrong: 'a list of snapshots begins again if the last entry of the page before was deleted',
    caughtBy: 'FL-6.2-1',
    operations: (right, disk) => ({
      listSnapshots({ pageToken, ...asked }) {
        const isGone = isDeleted(disk, 'snapshot', pageToken);
        return right.listSnapshots({ ...asked, pageToken: isGone ? undefined : pageToken });
      },
    }),
  },
  'snapshot-leaks': {
    wrong: 'deleting a snapshot does not release its space',
    caughtBy: 'FL-7.3-3',
    operations: (right, disk) => {
      const leaked = openRecord<number>(disk, 'leaked');
      return {
        deleteSnapshot(asked) {
          const found = disk.find(snapshotNamed(asked.snapshotId));
          if (found) leaked.put(found.id, found.sizeBytes);
          return right.deleteSnapshot(asked);
        },
        getCapacity: () => withoutLeaked(right.getCapacity(), leaked),
      };
    },
  },
  'expansion-leaks': {
    wrong: 'deleting an expanded volume releases only the space before its expansion',
    caughtBy: 'FL-7.3-3',
    operations: (right, disk) => {
      const [grown, leaked] = [new Map<string, number>(), openRecord<number>(disk, 'leaked')];
      return {
        async expandVolume(asked) {
          const { sizeBytes } = disk.require(volumeNamed(asked.volumeId));
          const answer = await right.expandVolume(asked);
          grown.set(asked.volumeId, disk.require(volumeNamed(asked.volumeId)).sizeBytes - sizeBytes);
          return answer;
        },
        deleteVolume(asked) {
          const answer = right.deleteVolume(asked);
          leaked.put(asked.volumeId, grown.get(asked.volumeId) ?? 0);
          return answer;
        },
        getCapacity: () => withoutLeaked(right.getCapacity(), leaked),
      };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

function lower<A extends { readonly snapshotId: string }>(asked: A): A {
  return { ...asked, snapshotId: asked.snapshotId.toLowerCase() };
}

function shown({ snapshotId }: { readonly snapshotId: string }) {
  return { id: snapshotId };
}

/** Subtracts the leaked bytes from the available ones. */
export function withoutLeaked(
  answer: ReturnType<Parameters<NonNullable<Breakage['operations']>>[0]['getCapacity']>,
  leaked: ReturnType<typeof openRecord<number>>,
) {
  const sum = leaked.ids().reduce((bytes, id) => bytes + (leaked.find(id) ?? 0), 0);
  return changeAnswer(answer, ({ availableBytes }) => ({
    availableBytes: Math.max(0, Number(availableBytes) - sum),
  }));
}

/** True if the reference vendor's page token names a resource that is missing. */
function isDeleted(disk: Disk, kind: 'volume' | 'snapshot', pageToken: string | undefined): boolean {
  const last = /^after:(.+)$/.exec(pageToken ?? '')?.[1];
  return last !== undefined && !disk.find({ kind, id: last });
}
