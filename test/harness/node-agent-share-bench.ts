import { mkdirSync } from 'node:fs';
import type { Attachment, AttachmentOf } from '../../src/api/attachment.ts';
import type { PublishRequest } from '../../node-agent/volumes/publish.ts';
import type { StageRequest } from '../../node-agent/volumes/stage.ts';
import { addDirectory } from '../fakes/state.ts';
import { openFakeBench, type Bench } from './node-agent-bench.ts';

const common = { attachmentId: 'attachment-1', sizeBytes: 2 ** 20, readonly: false, mayFormat: true };

/** How to reach a directory of the machine itself. */
export function toDirectory(path: string): AttachmentOf<'bind'> {
  return { protocol: 'bind', path, ...common };
}

/** How to reach a directory of an NFS server. */
export function toExport(path: string, server = 'nfs.test'): AttachmentOf<'nfs'> {
  return { protocol: 'nfs', server, path, ...common };
}

/** A fake machine with a disk mounted below the bench, and what makes volumes on it and on an NFS server. */
export function openFakeShares() {
  const bench = openFakeBench();
  const { state } = bench.host;
  const disk = `${bench.directory}-disk`;
  addDirectory(state, disk);
  state.mounts.push({
    id: 1,
    parentId: 0,
    device: '8:17',
    root: '/',
    path: disk,
    options: ['rw'],
    type: 'ext4',
    source: '/dev/sdb1',
    superOptions: ['rw'],
  });
  addDirectory(state, '/sys/module/nfs');
  return {
    ...bench,
    bind(name: string) {
      addDirectory(state, `${disk}/${name}`);
      return toDirectory(`${disk}/${name}`);
    },
    nfs(name: string) {
      state.exports.add(`nfs.test:/export/${name}`);
      return toExport(`/export/${name}`);
    },
  };
}

/** Makes a directory on this machine and says how to reach it. */
export function makeDirectoryVolume({ directory }: Bench, name: string): AttachmentOf<'bind'> {
  mkdirSync(`${directory}/volumes/${name}`, { recursive: true });
  return toDirectory(`${directory}/volumes/${name}`);
}

/** A request to stage and publish a share. */
export type ShareRequest = StageRequest & PublishRequest;

/** A request to stage and publish a share as volume `c.v`, as one that many nodes write. */
export function shareRequest({ directory }: Bench, attachment: Attachment): ShareRequest {
  return {
    volumeId: 'c.v',
    stagingPath: `${directory}/stage/v`,
    targetPath: `${directory}/pods/v`,
    readonly: false,
    capability: { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' },
    attachment,
  };
}

/** The same share as another volume, at other paths, which one pod alone may write. */
export function asVolume(request: ShareRequest, name: string): ShareRequest {
  return {
    ...request,
    volumeId: `c.${name}`,
    stagingPath: request.stagingPath.replace(/v$/, name),
    targetPath: request.targetPath.replace(/v$/, name),
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_SINGLE_WRITER' },
  };
}
