import type { Host } from '../host.ts';

/** A command of a volume, its operation, and its start in milliseconds since the epoch. */
export type VolumeCommand = {
  readonly operation: string;
  readonly command: string;
  readonly sinceMs: number;
};

/** The running commands of each volume, including commands that could not be killed. */
export type Watch = ReturnType<typeof createWatch>;

export function createWatch() {
  const commands = new Set<VolumeCommand & { readonly volumeId: string; isStuck: boolean }>();
  return {
    /** Wraps a host so that its commands count as the volume's. */
    hostFor: (volumeId: string, operation: string, host: Host): Host => ({
      ...host,
      async run(command, args, options) {
        const line = [command, ...args].join(' ');
        const own = { volumeId, operation, command: line, sinceMs: Date.now(), isStuck: false };
        commands.add(own);
        try {
          const result = await host.run(command, args, options);
          own.isStuck = result.gone !== undefined && !options?.mayWait;
          void result.gone?.then(() => commands.delete(own));
          return result;
        } finally {
          if (!own.isStuck) commands.delete(own);
        }
      },
    }),
    /** Returns the volume's oldest running command. */
    running: (volumeId: string): VolumeCommand | undefined =>
      commands.values().find(one => one.volumeId === volumeId && !one.isStuck),
    /** Returns the volume's oldest command, of these operations if given, that has outlived its kill. */
    stuck: (volumeId: string, operations?: ReadonlySet<string>): VolumeCommand | undefined =>
      commands
        .values()
        .find(one => one.volumeId === volumeId && one.isStuck && operations?.has(one.operation) !== false),
    hung: (): readonly string[] => {
      const stuck = commands.values().filter(({ isStuck }) => isStuck);
      return [...new Set(stuck.map(({ volumeId }) => volumeId))];
    },
  };
}

export function describeCommand({ operation, command, sinceMs }: VolumeCommand): string {
  return `${operation} has been waiting since ${new Date(sinceMs).toISOString()} on "${command}"`;
}
