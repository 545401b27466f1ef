import type { Host } from '../host.ts';

/** A command that was started for a volume, for which operation, and since when (milliseconds since the epoch). */
export type Waiting = { readonly operation: string; readonly command: string; readonly sinceMs: number };

/** Knows which commands run for which volume, and which could not be killed. */
export type Watch = ReturnType<typeof createWatch>;

/** Knows of no command. */
export function createWatch() {
  const commands = new Set<Waiting & { readonly volumeId: string; isStuck: boolean }>();
  return {
    /** The same host; what it runs is known as the volume's. */
    hostFor: (volumeId: string, operation: string, host: Host): Host => ({
      ...host,
      async run(command, args, options) {
        const line = [command, ...args].join(' ');
        const own = { volumeId, operation, command: line, sinceMs: Date.now(), isStuck: false };
        commands.add(own);
        try {
          const result = await host.run(command, args, options);
          own.isStuck = result.gone !== undefined;
          void result.gone?.then(() => commands.delete(own));
          return result;
        } finally {
          if (!own.isStuck) commands.delete(own);
        }
      },
    }),
    /** The oldest command that runs for the volume. */
    running: (volumeId: string): Waiting | undefined =>
      commands.values().find(one => one.volumeId === volumeId && !one.isStuck),
    /** The oldest command of the volume that outlived its kill and is still there; of these operations, if named. */
    stuck: (volumeId: string, operations?: ReadonlySet<string>): Waiting | undefined =>
      commands
        .values()
        .find(one => one.volumeId === volumeId && one.isStuck && operations?.has(one.operation) !== false),
    /** The volumes that have a stuck command. */
    hung: (): readonly string[] => {
      const stuck = commands.values().filter(({ isStuck }) => isStuck);
      return [...new Set(stuck.map(({ volumeId }) => volumeId))];
    },
  };
}

/** What a command waits on, in words. */
export function describeWaiting({ operation, command, sinceMs }: Waiting): string {
  return `${operation} waits since ${new Date(sinceMs).toISOString()} on "${command}"`;
}
