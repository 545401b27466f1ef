import { open, type FileHandle } from 'node:fs/promises';
import { Client, credentials, status } from '@grpc/grpc-js';
import {
  callStream,
  findSnapshot,
  loadSnapshotMetadata,
  openApiServer,
  type ApiServer,
  type Page,
} from './api.ts';

/** The findings of the backup program, which it prints as JSON. */
export type BackupResult = {
  readonly capacityBytes: number;
  readonly allocatedBytes: number;
  readonly changedBytes: number;
  /** The offset of the first byte that differs from the snapshot, after the full and the incremental copy; -1 if none does. */
  readonly differences: readonly number[];
  /** The codes of the calls that have to fail. */
  readonly refusals: readonly string[];
};

type Service = {
  readonly spec: { readonly address: string; readonly audience: string; readonly caCert: string };
};

type TokenRequest = { readonly status: { readonly token: string } };

const rpcs = loadSnapshotMetadata();
const chunkBytes = 1024 * 1024;

/**
 * Copies the allocated blocks of a snapshot, and then the blocks that differ in a second one. The devices /dev/first and
 * /dev/second are volumes that were restored from the snapshots. The account of the foreign token may not read snapshots.
 */
async function main([
  driver = '',
  namespace = '',
  first = '',
  second = '',
  foreignToken = '',
]: readonly string[]) {
  const api = await openApiServer();
  const service = `/apis/cbt.storage.k8s.io/v1beta1/snapshotmetadataservices/${driver}`;
  const { spec } = await api.get<Service>(service);
  const client = new Client(spec.address, credentials.createSsl(Buffer.from(spec.caCert, 'base64')));
  const token = await requestToken(api, namespace, spec.audience);
  const allocated = (security_token: string) =>
    callStream(client, rpcs['GetMetadataAllocated'], { security_token, namespace, snapshot_name: first });
  const base = await findSnapshot(api, namespace, first);
  const delta = {
    security_token: token,
    namespace,
    base_snapshot_id: base.handle,
    target_snapshot_name: second,
  };

  const copy = await open('/copy/volume', 'w+');
  const full = await copyRanges(allocated(token), '/dev/first', copy);
  const afterFull = await findDifference(copy, '/dev/first', full.capacityBytes);
  const changed = await copyRanges(callStream(client, rpcs['GetMetadataDelta'], delta), '/dev/second', copy);
  const result: BackupResult = {
    capacityBytes: full.capacityBytes,
    allocatedBytes: full.bytes,
    changedBytes: changed.bytes,
    differences: [afterFull, await findDifference(copy, '/dev/second', changed.capacityBytes)],
    refusals: [
      await codeOf(allocated(await requestToken(api, namespace, 'another'))),
      await codeOf(allocated(foreignToken)),
    ],
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

/** Gets a token of the program's own account for an audience. */
async function requestToken({ post }: ApiServer, namespace: string, audience: string): Promise<string> {
  const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/backup/token`;
  const { status: created } = await post<TokenRequest>(path, { ...kind, spec: { audiences: [audience] } });
  return created.token;
}

/** Copies the ranges of a stream from a device. Gives the copy the size that the stream tells. */
async function copyRanges(pages: AsyncIterable<Page>, device: string, copy: FileHandle) {
  const source = await open(device, 'r');
  let [capacityBytes, bytes] = [0, 0];
  for await (const { volume_capacity_bytes, block_metadata } of pages) {
    capacityBytes = Number(volume_capacity_bytes);
    for (const { byte_offset, size_bytes } of block_metadata) {
      bytes += Number(size_bytes);
      const end = Number(byte_offset) + Number(size_bytes);
      for (let at = Number(byte_offset); at < end; at += chunkBytes) {
        const chunk = await readAt(source, at, Math.min(chunkBytes, end - at));
        await copy.write(chunk, 0, chunk.length, at);
      }
    }
  }
  await copy.truncate(capacityBytes);
  await source.close();
  return { capacityBytes, bytes };
}

/** Finds the offset of the first chunk that differs, or the size if the device is larger than that; -1 if nothing differs. */
async function findDifference(copy: FileHandle, device: string, sizeBytes: number): Promise<number> {
  const source = await open(device, 'r');
  try {
    for (let at = 0; at <= sizeBytes; at += chunkBytes) {
      const [ours, theirs] = [await readAt(copy, at, chunkBytes), await readAt(source, at, chunkBytes)];
      if (!ours.equals(theirs)) return at;
    }
    return -1;
  } finally {
    await source.close();
  }
}

/** Reads bytes; fewer only at the end of the file. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** Returns the error code of a call. */
async function codeOf(pages: AsyncIterable<Page>): Promise<string> {
  try {
    for await (const page of pages) return `an answer: ${JSON.stringify(page)}`;
    return 'an empty answer';
  } catch (error) {
    return status[(error as { readonly code: status }).code] ?? String(error);
  }
}

await main(process.argv.slice(2));
