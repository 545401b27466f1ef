import type { Export, ExportedAttachment } from '../../../gateway/export.ts';

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

/** What a gateway does to an export. */
export type Live = Required<Pick<Export, 'publish' | 'withdraw' | 'restore'>>;

/** What ends, how a gateway opens the export, and what it does then; `turn` chooses what the next gateway is asked for. */
type Ending = ExportedAttachment & {
  readonly countdown: ReturnType<typeof createCountdown>;
  readonly open: () => Live;
  readonly turn: number;
};

/** Has a gateway that may end publish and withdraw a volume, and the next one clear what is there; true when the first was done. */
export async function playEnding({ countdown, open, volume, access, turn }: Ending): Promise<boolean> {
  const attached = [{ volume, access }];
  const isDone = await publishAndWithdraw(open(), attached).then(
    () => true,
    () => false,
  );
  countdown.lift();
  await clear(open(), attached, turn);
  return isDone;
}

/** What a gateway does that is not ended: all at once. */
export async function publishAndWithdraw(
  live: Pick<Live, 'publish' | 'withdraw'>,
  attached: readonly ExportedAttachment[],
): Promise<void> {
  await Promise.all(attached.map(({ volume, access }) => live.publish(volume, access)));
  await withdraw(live, attached);
}

/** What the gateway does that comes next: it publishes again or does not, and then withdraws all or restores nothing, by turns. */
export async function clear(
  next: Live,
  attached: readonly ExportedAttachment[],
  turn: number,
): Promise<void> {
  if (turn % 2 === 0) for (const { volume, access } of attached) await next.publish(volume, access);
  if (turn % 3 === 0) await withdraw(next, attached);
  else await next.restore(nothing());
}

async function withdraw(
  live: Pick<Live, 'withdraw'>,
  attached: readonly ExportedAttachment[],
): Promise<void> {
  await Promise.all(
    attached.map(({ volume, access }) => live.withdraw(volume, access.nodeId, access.cluster)),
  );
}

async function* nothing(): AsyncGenerator<never> {}
