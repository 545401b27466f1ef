import type { Backend, CreatedSnapshot, NewSnapshot, SnapshotRef } from '../../../gateway/backend.ts';
import { Problem } from '../../../src/api/problem.ts';

/** A backend that runs on another machine, and what it takes to look into its storage. */
export type Broker = Required<Pick<Backend, 'create' | 'delete' | 'attach' | 'detach' | 'expand'>> & {
  snapshot(snapshot: NewSnapshot): Promise<CreatedSnapshot>;
  deleteSnapshot(snapshot: SnapshotRef): Promise<void>;
  watchers(volumeId: string): Promise<readonly string[]>;
  /** Of all that the volume holds. */
  hash(volumeId: string): Promise<string>;
  /** Fails unless the storage is empty. */
  nothingLeft(): Promise<void>;
};

type Answer = { readonly value?: unknown } & Partial<Pick<Problem, 'code' | 'detail'>>;

/** Asks the backend by its methods; what it throws is thrown here. */
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
