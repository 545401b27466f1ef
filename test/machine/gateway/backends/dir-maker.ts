import { makeVolume } from '../../../suites/member-fixtures.ts';
import { openAt } from './dir-root.ts';

/** A process of its own that makes a snapshot of `a.source` and a clone of the snapshot below the root it is told. */
const backend = await openAt(process.argv[2] ?? '');
const volume = { id: 'a.source', sizeBytes: 2 ** 20, parameters: {} };
const cut = await backend.snapshots?.create({
  id: 'a.cut',
  volume,
  attachedForWriting: false,
  parameters: {},
});
const snapshot = { id: 'a.cut', volumeId: volume.id, sizeBytes: cut?.sizeBytes ?? 0 };
await makeVolume(backend, { id: 'a.clone', source: { kind: 'snapshot', snapshot } });
