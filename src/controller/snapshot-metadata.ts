import { maxPageBlocks } from '../api/operations.ts';
import { invalidProblem, Problem, unavailableProblem } from '../api/problem.ts';
import type { GetMetadataAllocatedResponse } from '../csi/generated/csi/v1/GetMetadataAllocatedResponse.ts';
import type { SnapshotMetadataHandlers } from '../csi/generated/csi/v1/SnapshotMetadata.ts';
import { readId } from '../csi/request.ts';
import type { Handlers, UnaryCall } from '../csi/call.ts';
import type { ControllerOptions } from './capabilities.ts';

/** How long the gateway may take for one page of blocks. */
const pageTimeoutMs = 60_000;

type Range = { readonly starting_offset: string; readonly max_results: number };

/** The SnapshotMetadata service (CSI spec, "Snapshot Metadata Service RPCs"): pages of blocks as one stream. */
export function createSnapshotMetadata({ client }: ControllerOptions): Handlers<SnapshotMetadataHandlers> {
  /** A page that cannot be had is an error of the stream: only after the last page does it end regularly. */
  async function* stream(
    { starting_offset, max_results }: Range,
    snapshot: { readonly snapshotId: string; readonly base?: string },
    call: UnaryCall,
  ): AsyncGenerator<GetMetadataAllocatedResponse> {
    if (max_results < 0) throw invalidProblem(`max_results is ${max_results}, less than 0`);
    const limit = Math.min(max_results || maxPageBlocks, maxPageBlocks);
    let offset = Number(starting_offset);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new Problem('OUT_OF_RANGE', `starting_offset is ${starting_offset}, which lies in no snapshot`);
    let sizeBytes: number | undefined;
    for (;;) {
      const deadlineMs = Math.min(call.deadlineMs, Date.now() + pageTimeoutMs);
      const page = await client.listBlocks({ ...snapshot, offset, limit }, { ...call, deadlineMs });
      sizeBytes ??= page.sizeBytes;
      if (page.sizeBytes !== sizeBytes)
        throw unavailableProblem(`the pages are of ${sizeBytes} and of ${page.sizeBytes} bytes`);
      yield {
        block_metadata_type: 'VARIABLE_LENGTH',
        volume_capacity_bytes: sizeBytes,
        block_metadata: page.blocks.map(block => ({ byte_offset: block.offset, size_bytes: block.length })),
      };
      if (page.nextOffset === undefined) return;
      offset = page.nextOffset;
    }
  }

  return {
    GetMetadataAllocated: (request, call) =>
      stream(request, { snapshotId: readId(request.snapshot_id, 'snapshot_id') }, call),

    GetMetadataDelta: (request, call) => {
      const base = readId(request.base_snapshot_id, 'base_snapshot_id');
      const snapshotId = readId(request.target_snapshot_id, 'target_snapshot_id');
      return stream(request, { snapshotId, base }, call);
    },
  };
}
