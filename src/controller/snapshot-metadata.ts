import { Problem } from '../api/problem.ts';
import { maxPageBlocks } from '../api/operations.ts';
import type { BlockPage } from '../api/snapshot.ts';
import type { GetMetadataAllocatedResponse } from '../csi/generated/csi/v1/GetMetadataAllocatedResponse.ts';
import type { SnapshotMetadataHandlers } from '../csi/generated/csi/v1/SnapshotMetadata.ts';
import { readId } from '../csi/request.ts';
import type { Handlers } from '../csi/call.ts';
import type { UnaryCall } from '../csi/call.ts';
import { requireFeature, type ControllerOptions } from './capabilities.ts';

/** How long the gateway may take for one page of blocks. */
const pageTimeoutMs = 60_000;

type Wanted = { readonly starting_offset: string; readonly max_results: number };

/** The SnapshotMetadata service (CSI spec, "Snapshot Metadata Service RPCs"): pages of blocks as one stream. */
export function createSnapshotMetadata({
  client,
  capabilities,
}: Pick<ControllerOptions, 'client' | 'capabilities'>): Handlers<SnapshotMetadataHandlers> {
  /** A page that cannot be had is an error of the stream: only after the last page does it end regularly. */
  async function* stream(
    snapshot: { readonly id: string; readonly base?: string },
    wanted: Wanted,
    call: UnaryCall,
  ): AsyncGenerator<GetMetadataAllocatedResponse> {
    const limit = readLimit(wanted.max_results);
    let offset: number | undefined = readOffset(wanted.starting_offset);
    while (offset !== undefined) {
      const deadlineMs = Math.min(call.deadlineMs, Date.now() + pageTimeoutMs);
      const range = { base: snapshot.base, offset, limit };
      const page: BlockPage = await client.listBlocks(
        { snapshotId: snapshot.id, ...range },
        { ...call, deadlineMs },
      );
      yield toResponse(page);
      offset = nextOf(page, offset);
    }
  }

  return {
    GetMetadataAllocated: (request, call) => {
      requireFeature(capabilities, 'changes');
      return stream({ id: readId(request.snapshot_id, 'snapshot_id') }, request, call);
    },

    GetMetadataDelta: (request, call) => {
      requireFeature(capabilities, 'changes');
      const base = readId(request.base_snapshot_id, 'base_snapshot_id');
      return stream({ id: readId(request.target_snapshot_id, 'target_snapshot_id'), base }, request, call);
    },
  };
}

function readOffset(value: string): number {
  const offset = Number(value);
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new Problem('OUT_OF_RANGE', `starting_offset is ${value}, which lies in no snapshot`);
  return offset;
}

function readLimit(maxResults: number): number {
  if (maxResults < 0) throw new Problem('INVALID_ARGUMENT', `max_results is ${maxResults}, less than 0`);
  return Math.min(maxResults || maxPageBlocks, maxPageBlocks);
}

/** A page that leads nowhere would be asked for again and again. */
function nextOf({ nextOffset }: BlockPage, offset: number): number | undefined {
  if (nextOffset !== undefined && nextOffset <= offset)
    throw new Problem('UNAVAILABLE', `the storage API gave the next offset ${nextOffset} after ${offset}`);
  return nextOffset;
}

function toResponse({ sizeBytes, blocks }: BlockPage): GetMetadataAllocatedResponse {
  return {
    block_metadata_type: 'VARIABLE_LENGTH',
    volume_capacity_bytes: sizeBytes,
    block_metadata: blocks.map(({ offset, length }) => ({ byte_offset: offset, size_bytes: length })),
  };
}
