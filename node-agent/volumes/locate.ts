import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import type { Carrier, Located } from './carrier.ts';
import { carrierOf } from './carriers/index.ts';

/** A volume, and one of the paths it is staged or published at. */
export type PathOfVolume = { readonly volumeId: string; readonly path: string };

/** `isAlone` says that nothing else is done with the volume meanwhile, so that its device may be connected. */
export type Search = PathOfVolume & { readonly isAlone: boolean };

/** Finds a volume at a path; NOT_FOUND when it is not there. The path itself is not touched. */
export async function locate(
  agent: Agent,
  { volumeId, path, isAlone }: Search,
): Promise<Located & Pick<Carrier, 'isMounted'>> {
  const record = agent.records.get(volumeId);
  const paths =
    record && !record.isDown ? [record.stagingPath, ...record.targets.map(target => target.path)] : [];
  if (record && paths.includes(path)) {
    const carrier = carrierOf(agent, record);
    const located = await carrier.locate({ path, mounts: await agent.host.mounts(), isAlone });
    if (located) return { ...located, isMounted: carrier.isMounted };
  }
  throw new Problem('NOT_FOUND', `volume "${volumeId}" is neither staged nor published at "${path}"`);
}
