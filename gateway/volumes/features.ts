import type { Feature } from '../../src/api/storage.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';

/** What the backend offers: a member that is there. */
export function featuresOf(backend: Backend): Feature[] {
  const { snapshots, sources = [] } = backend;
  const present: Readonly<Record<Feature, unknown>> = {
    capacity: backend.capacity,
    expand: backend.expand,
    modify: backend.modification,
    snapshots,
    restore: snapshots && sources.includes('snapshot'),
    clone: sources.includes('volume'),
    groups: snapshots?.createGroup,
    changes: snapshots && backend.changes,
    health: backend.volumeHealth,
    topology: backend.places,
  };
  return (Object.keys(present) as Feature[]).filter(feature => Boolean(present[feature]));
}

/** The member, or UNIMPLEMENTED that says what the backend does not offer. */
export function requireOffered<T>(backend: Backend, member: T | undefined, what: string): T {
  if (member === undefined) throw new Problem('UNIMPLEMENTED', `backend "${backend.name}" has no ${what}`);
  return member;
}
