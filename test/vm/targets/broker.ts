import type { Backend, CreatedSnapshot, NewSnapshot, SnapshotRef } from '../../../gateway/backend.ts';
import { Problem } from '../../../src/api/problem.ts';

/** A backend on another machine, with access to its storage. */
export type Broker = Required<Pick<Backend, 'create' | 'delete' | 'attach' | 'detach' | 'expand'>> & {
  snapshot(snapshot: NewSnapshot): Promise<CreatedSnapshot>;
  deleteSnapshot(snapshot: SnapshotRef): Promise<void>;
  watchers(volumeId: string): Promise<readonly string[]>;
  /** Returns the hash of the volume's data. */
  hash(volumeId: string): Promise<string>;
  /** Fails unless the storage is empty. */
  nothingLeft(): Promise<void>;
};

type Answer = { readonly value?: unknown } & Partial<Pick<Problem, 'code' | 'detail'>>;

/** Creates a client of the backend's methods; it throws the backend's errors. */
export function createClient(url: string): Broker {
  return new Proxy({} as Broker, {
    get:
      (_, method) =>
      async (...args: readonly unknown[]) => {
        const response = await fetch(`${url}/${String(method)}`, {
          method: 'POST',
          body: JSON.stringify(args),
        });
        const { value, code, detail = '' } = (await response.json()) as Answer;
        if (code) throw new Problem(code, detail);
        return value;
      },
  });
}
