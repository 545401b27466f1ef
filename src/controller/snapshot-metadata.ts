import { maxPageBlocks } from '../api/operations.ts';
import { invalidProblem, Problem, unavailableProblem } from '../api/problem.ts';
import type { GetMetadataAllocatedResponse } from '../csi/generated/csi/v1/GetMetadataAllocatedResponse.ts';
import type { SnapshotMetadataHandlers } from '../csi/generated/csi/v1/SnapshotMetadata.ts';
import { readKnownId } from '../csi/request.ts';
import type { Handlers, UnaryCall } from '../csi/call.ts';
import type { ControllerOptions } from './capabilities.ts';

/** The time limit for one page of blocks. */
const pageTimeoutMs = 60_000;

type Range = { readonly starting_offset: string; readonly max_results: number };

/** The SnapshotMetadata service (CSI spec, "Snapshot Metadata Service RPCs"): pages of blocks as one stream. */
export function createSnapshotMetadata({ client }: ControllerOptions): Handlers<SnapshotMetadataHandlers> {
  /** Streams pages of blocks. The stream ends regularly only after the last page; any failure before is its error. */
  async function* stream(
    { starting_offset, max_results }: Range,
    snapshot: { readonly snapshotId: string; readonly base?: string },
    call: UnaryCall,
  ): AsyncGenerator<GetMetadataAllocatedResponse> {
    if (max_results < 0) throw invalidProblem(`max_results is ${max_results}; use 0 or more`);
    const limit = Math.min(max_results || maxPageBlocks, maxPageBlocks);
    let offset = Number(starting_offset);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new Problem(
        'OUT_OF_RANGE',
        `starting_offset is ${starting_offset}, which no snapshot contains; use a byte offset of 0 or more`,
      );
    let sizeBytes: number | undefined;
    for (;;) {
      const deadlineMs = Math.min(call.deadlineMs, Date.now() + pageTimeoutMs);
      const page = await client.listBlocks({ ...snapshot, offset, limit }, { ...call, deadlineMs });
      sizeBytes ??= page.sizeBytes;
      if (page.sizeBytes !== sizeBytes)
        throw unavailableProblem(
          `the snapshot's size changed from ${sizeBytes} to ${page.sizeBytes} bytes between two pages; try again`,
        );
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
      stream(request, { snapshotId: readKnownId(request.snapshot_id, 'snapshot_id') }, call),

    GetMetadataDelta: (request, call) => {
      const base = readKnownId(request.base_snapshot_id, 'base_snapshot_id');
      const snapshotId = readKnownId(request.target_snapshot_id, 'target_snapshot_id');
      return stream(request, { snapshotId, base }, call);
    },
  };
}
