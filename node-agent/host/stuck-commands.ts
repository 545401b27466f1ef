import type { Host } from '../host.ts';

/** A command that was started for a volume, for which operation, and since when (milliseconds since the epoch). */
export type Waiting = { readonly operation: string; readonly command: string; readonly sinceMs: number };

/** Knows which commands run for which volume, and which could not be killed. */
export interface Watch {
  /** The same host; what it runs is known as the volume's. */
  hostFor(volumeId: string, operation: string, host: Host): Host;
  /** The oldest command that runs for the volume. */
  running(volumeId: string): Waiting | undefined;
  /**
   * The oldest command of the volume that did not die when it was killed and is still there; of these operations alone,
   * where some are named.
   */
  stuck(volumeId: string, operations?: ReadonlySet<string>): Waiting | undefined;
  /** The volumes that have a stuck command. */
  hung(): readonly string[];
}

/** Knows of no command. */
export function createWatch(): Watch {
  const runs = createShelf();
  const stuck = createShelf();
  return {
    hostFor: (volumeId, operation, host) => ({
      ...host,
      async run(command, args, options) {
        const waiting = { operation, command: [command, ...args].join(' '), sinceMs: Date.now() };
        const end = runs.put(volumeId, waiting);
        try {
          const result = await host.run(command, args, options);
          if (result.gone) void result.gone.then(stuck.put(volumeId, waiting));
          return result;
        } finally {
          end();
        }
      },
    }),
    running: volumeId => runs.first(volumeId),
    stuck: (volumeId, operations) => stuck.first(volumeId, operations),
    hung: stuck.keys,
  };
}

/** What a command waits on, in words. */
export function describeWaiting({ operation, command, sinceMs }: Waiting): string {
  return `${operation} waits since ${new Date(sinceMs).toISOString()} on "${command}"`;
}

function createShelf() {
  const shelf = new Map<string, Set<Waiting>>();
  return {
    /** Puts it there until the returned function is called. */
    put(volumeId: string, waiting: Waiting): () => void {
      const all = shelf.get(volumeId) ?? new Set();
      shelf.set(volumeId, all.add(waiting));
      return () => {
        all.delete(waiting);
        if (all.size === 0 && shelf.get(volumeId) === all) shelf.delete(volumeId);
      };
    },
    first(volumeId: string, operations?: ReadonlySet<string>): Waiting | undefined {
      return [...(shelf.get(volumeId) ?? [])].find(({ operation }) => operations?.has(operation) ?? true);
    },
    keys: (): readonly string[] => [...shelf.keys()],
  };
}
