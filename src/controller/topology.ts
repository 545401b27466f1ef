import type { TopologyRequirement } from '../api/storage.ts';
import { hasFeature } from '../api/storage.ts';
import type { Segments } from '../api/topology.ts';
import type { Topology, Topology__Output } from '../csi/generated/csi/v1/Topology.ts';
import type { TopologyRequirement__Output } from '../csi/generated/csi/v1/TopologyRequirement.ts';
import type { Advertised } from '../csi/identity.ts';
import { unofferedProblem, type ControllerOptions } from './capabilities.ts';

type Options = Pick<ControllerOptions, 'advertised' | 'capabilities'>;
type Kind = 'topology' | 'snapshot-topology';

/**
 * Where something new must be reached from, as the storage is asked for it; undefined when nothing is asked, and for a
 * storage that is reached from everywhere. INVALID_ARGUMENT when the plugin does not advertise that it can be asked.
 */
export function readRequirement(
  requirement: TopologyRequirement__Output | null,
  kind: Kind,
  { advertised, capabilities }: Options,
): TopologyRequirement | undefined {
  const { requisite = [], preferred = [] } = requirement ?? {};
  if (requisite.length + preferred.length === 0) return undefined;
  if (!advertised.includes(kind)) throw unofferedProblem('accessibility_requirements');
  if (!hasFeature(capabilities.get(), 'topology')) return undefined;
  return { requisite: requisite.map(readSegments), preferred: preferred.map(readSegments) };
}

/** Where the volumes are to be reached from whose capacity is asked for; undefined and INVALID_ARGUMENT likewise. */
export function readPlace(
  topology: Topology__Output | null,
  { advertised, capabilities }: Options,
): Record<string, string> | undefined {
  if (!topology || Object.keys(topology.segments).length === 0) return undefined;
  if (!advertised.includes('topology')) throw unofferedProblem('accessible_topology');
  return hasFeature(capabilities.get(), 'topology') ? readSegments(topology) : undefined;
}

/** Where something is reached from, in CSI's words; absent where the plugin does not advertise it. */
export function toAccessibleTopology(
  topology: readonly Segments[] | undefined,
  kind: Kind,
  advertised: Advertised,
): { readonly accessible_topology?: Topology[] } {
  if (!topology || !advertised.includes(kind)) return {};
  return { accessible_topology: topology.map(segments => ({ segments: { ...segments } })) };
}

function readSegments({ segments }: Topology__Output): Record<string, string> {
  return { ...segments };
}
