import { mkdirSync } from 'node:fs';
import type { Attachment, AttachmentOf } from '../../../src/api/attachment.ts';
import type { PublishRequest } from '../../../node-agent/volumes/publish.ts';
import type { StageRequest } from '../../../node-agent/volumes/stage.ts';
import { addDirectory } from '../../fakes/state.ts';
import { openFakeBench, type Bench } from '../node.ts';

const common = { attachmentId: 'attachment-1', sizeBytes: 2 ** 20, readonly: false, mayFormat: true };

/** Makes an attachment of a directory on the machine itself. */
export function toDirectory(path: string): AttachmentOf<'bind'> {
  return { protocol: 'bind', path, ...common };
}

/** Makes an attachment of a directory on an NFS server. */
export function toExport(path: string, server = 'nfs.test'): AttachmentOf<'nfs'> {
  return { protocol: 'nfs', server, path, ...common };
}

/**
 * Opens a fake machine with a disk mounted below the bench, and functions that make volumes on it and on an NFS server.
 */
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

/** Makes a directory on this machine and returns its attachment. */
export function makeDirectoryVolume({ directory }: Bench, name: string): AttachmentOf<'bind'> {
  mkdirSync(`${directory}/volumes/${name}`, { recursive: true });
  return toDirectory(`${directory}/volumes/${name}`);
}

/** A request to stage and publish a share. */
export type ShareRequest = StageRequest & PublishRequest;

/** Makes a request to stage and publish a share as volume `c.v`, writable by many nodes. */
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

/** Changes a request to publish the same share as another volume, at other paths, for one writing pod. */
export function asVolume(request: ShareRequest, name: string): ShareRequest {
  return {
    ...request,
    volumeId: `c.${name}`,
    stagingPath: request.stagingPath.replace(/v$/, name),
    targetPath: request.targetPath.replace(/v$/, name),
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_SINGLE_WRITER' },
  };
}
