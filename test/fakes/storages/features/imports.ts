import { createHash, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { volumeNamed, type Disk } from '../../../../examples/vendor-hono/disk.ts';
import type { ExistingVolume } from '../../../../src/api/volume.ts';
import type { DriverVolume } from '../../../../src/kit/existing.ts';
import { Problem, type VendorOperations } from '../../../../src/sdk/server/vendor.ts';
import { openRecord, type BasicOperations } from './groups-and-nodes.ts';

/** The driver that made volumes before: each is a file with random bytes. */
export const formerDriver = 'former.example';

/** Makes a volume of the former driver in the vendor's directory. */
export function createExisting(directory: string): DriverVolume {
  const [handle, bytes] = [`vol-${randomBytes(8).toString('hex')}`, randomBytes(2 ** 20)];
  const path = pathOf(directory, handle);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { driver: formerDriver, handle, context: {}, sizeBytes: bytes.length, sha256 };
}

/** Returns the file of a volume of the former driver. */
export function pathOf(directory: string, handle: string): string {
  return join(directory, 'existing', handle);
}

/** Returns the vendor's directory. */
export function directoryOf(disk: Disk): string {
  return dirname(dirname(disk.pathOf(volumeNamed('any'))));
}

/** Adds the import of the former driver's volumes to the reference vendor's operations. */
export function withImports<Right extends BasicOperations>(right: Right, disk: Disk) {
  const imports = openRecord<ExistingVolume>(disk, 'imports');
  const directory = directoryOf(disk);
  const idOf = (handle: string) => imports.ids().find(id => imports.find(id)?.handle === handle);
  return {
    ...right,
    async createVolume(asked) {
      const { volumeId } = asked;
      const { existing, ...body } = asked.body;
      const found = disk.find(volumeNamed(volumeId));
      if (found && !isDeepStrictEqual(imports.find(volumeId), existing))
        throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" exists with other settings`);
      if (found || !existing) return right.createVolume({ ...asked, body });
      if (existing.driver !== formerDriver)
        throw new Problem('INVALID_ARGUMENT', `driver "${existing.driver}" made no volumes here`);
      const holder = idOf(existing.handle) ?? volumeId;
      if (holder !== volumeId)
        throw new Problem('FAILED_PRECONDITION', `"${existing.handle}" is volume "${holder}"`);
      const path = pathOf(directory, existing.handle);
      if (!existsSync(path)) throw new Problem('NOT_FOUND', `there is no volume "${existing.handle}"`);
      imports.put(volumeId, existing);
      const file = `${disk.pathOf(volumeNamed(volumeId))}.new`;
      rmSync(file, { force: true });
      linkSync(path, file);
      const { name, parameters = {}, mutableParameters = {} } = body;
      disk.put({
        ...volumeNamed(volumeId),
        spec: { name, parameters, mutableParameters },
        sizeBytes: statSync(path).size,
        createdAt: new Date().toISOString(),
        holdsData: true,
      });
      return [201, right.getVolume(asked)[1]];
    },
    deleteVolume(asked) {
      const answer = right.deleteVolume(asked);
      const existing = imports.find(asked.volumeId);
      if (existing) rmSync(pathOf(directory, existing.handle), { force: true });
      imports.remove(asked.volumeId);
      return answer;
    },
  } satisfies VendorOperations;
}
