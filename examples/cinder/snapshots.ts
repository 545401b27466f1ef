import type { SnapshotSpec, VendorOperations } from 'fairlead/vendor';
import type { CinderResource } from './cinder.ts';
import { requireSame, specOf, toShown, type Named } from './names.ts';

type Identity = Pick<SnapshotSpec, 'name' | 'volumeId'>;

/** Creates the operations on snapshots. A snapshot's name in Cinder is its id. */
export function createSnapshots(volumes: Named, snapshots: Named) {
  return {
    async listSnapshots({ volumeId, ...request }) {
      const isWanted = (one: CinderResource): boolean =>
        one.status !== 'creating' && (!volumeId || specOf<Identity>(one).volumeId === volumeId);
      const { entries, ...more } = await snapshots.list({ request, show, isWanted });
      return [200, { snapshots: entries, ...more }];
    },

    getSnapshot: async ({ snapshotId }) => [200, show(await snapshots.require(snapshotId))],

    async createSnapshot({ snapshotId: id, body: { name, volumeId } }) {
      const spec: Identity = { name, volumeId };
      const earlier = await snapshots.find(id);
      requireSame(earlier, spec);
      const ensure = (volume_id?: string) => snapshots.ensure(id, { spec, body: { volume_id, force: true } });
      const { isNew, found } = await (earlier
        ? ensure()
        : volumes.use(volumeId, volume => ensure(volume.id)));
      return [isNew ? 201 : 200, show(found)];
    },

    async deleteSnapshot({ snapshotId }) {
      await snapshots.remove(snapshotId);
      return [204];
    },
  } satisfies VendorOperations;
}

const show = (found: CinderResource) => ({ ...specOf<Identity>(found), ...toShown(found) });
