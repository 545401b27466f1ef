import type { NodeAccess } from '../../../../gateway/backend.ts';
import type { Export, ExportedVolume } from '../../../../gateway/export.ts';

/** Steps that a gateway takes until it ends at one. */
export function createCountdown(steps: number) {
  let left = steps;
  return {
    /** Throws once there are none left. */
    step(): void {
      if (left-- <= 0) throw new Error('ended');
    },
    /** From now on there are as many as anybody takes. */
    lift(): void {
      left = Infinity;
    },
  };
}

/** What ends, how a gateway opens the export, and what it does then; `turn` chooses what the next gateway is asked for. */
type Ending = {
  readonly countdown: ReturnType<typeof createCountdown>;
  readonly open: () => Required<Pick<Export, 'publish' | 'withdraw' | 'restore'>>;
  readonly volume: ExportedVolume;
  readonly access: NodeAccess;
  readonly turn: number;
};

async function* nothing(): AsyncGenerator<never> {}

/** Has a gateway that may end publish and withdraw a volume, and the next one withdraw it or restore nothing; true when the first was done. */
export async function playEnding({ countdown, open, volume, access, turn }: Ending): Promise<boolean> {
  const { nodeId, cluster } = access;
  const live = open();
  const isDone = await live
    .publish(volume, access)
    .then(() => live.withdraw(volume, nodeId, cluster))
    .then(
      () => true,
      () => false,
    );
  countdown.lift();
  const next = open();
  if (turn % 2 === 0) await next.publish(volume, access);
  if (turn % 3 === 0) await next.withdraw(volume, nodeId, cluster);
  else await next.restore(nothing());
  return isDone;
}
