import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Problem, type AttachmentSpec, type OperationInput } from 'fairlead/vendor';
import type { Identity } from './reach.ts';

export type NodeDetails = OperationInput<'putNode'>['body'];
/** An attachment, recorded before Cinder is asked for it. `made` is Cinder's, and `isDone` once the node has a way. */
export type AttachmentRecord = {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly spec: AttachmentSpec;
  readonly readonly: boolean;
  readonly made?: {
    readonly id: string;
    readonly sizeBytes: number;
    readonly mayFormat: boolean;
    readonly identity?: Identity;
  };
  readonly isDone?: boolean;
};
export type Records = ReturnType<typeof openRecords>;

/** Opens the records of nodes and attachments, which Cinder cannot keep. Every change is durable when its function returns. */
export function openRecords(dir: string) {
  mkdirSync(dir, { recursive: true });
  const db = new DatabaseSync(join(dir, 'records.sqlite'));
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists nodes (id text primary key, details text);
    create table if not exists attachments (volume text, node text, value text, primary key (volume, node))`);
  const putNode = db.prepare('insert or replace into nodes values (?, ?)');
  const getNode = db.prepare('select details from nodes where id = ?');
  const dropNode = db.prepare('delete from nodes where id = ?');
  const put = db.prepare('insert or replace into attachments values (?, ?, ?)');
  const drop = db.prepare('delete from attachments where volume = ? and node = ?');
  const ofVolume = db.prepare('select value from attachments where volume = ? order by node');
  const ofNode = db.prepare('select value from attachments where node = ?');
  const putAttachment = (one: AttachmentRecord): AttachmentRecord => {
    put.run(one.volumeId, one.nodeId, JSON.stringify(one));
    return one;
  };
  return {
    putNode: (id: string, details: NodeDetails): void => void putNode.run(id, JSON.stringify(details)),
    findNode(id: string): NodeDetails | undefined {
      const row = getNode.get(id);
      return row && JSON.parse(String(row['details']));
    },
    dropNode: (id: string): void => void dropNode.run(id),
    attachmentsOf: (volumeId: string): AttachmentRecord[] => ofVolume.all(volumeId).map(parse),
    attachmentsTo: (nodeId: string): AttachmentRecord[] => ofNode.all(nodeId).map(parse),
    putAttachment,
    drop: ({ volumeId, nodeId }: AttachmentRecord): void => void drop.run(volumeId, nodeId),
  };
}

function parse(row: Readonly<Record<string, unknown>>): AttachmentRecord {
  return JSON.parse(String(row['value'])) as AttachmentRecord;
}

export function heldProblem({ volumeId, nodeId }: AttachmentRecord): Problem {
  return new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is attached to node "${nodeId}"`);
}
