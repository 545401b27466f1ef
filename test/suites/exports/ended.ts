import type { Export, ExportedAttachment } from '../../../gateway/export.ts';

/** Creates a counter of steps that ends a gateway's work at one of them. */
export function createCountdown(steps: number) {
  let left = steps;
  return {
    /** Throws once no step is left. */
    step(): void {
      if (left-- <= 0) throw new Error('ended');
    },
    /** Allows any number of steps from now on. */
    lift(): void {
      left = Infinity;
    },
  };
}

/** The members of an export that a gateway calls. */
export type Live = Required<Pick<Export, 'publish' | 'withdraw' | 'restore'>>;

/** An export and the step that ends the gateway's work on it; `choice` decides the next gateway's requests. */
type ExportRun = ExportedAttachment & {
  readonly countdown: ReturnType<typeof createCountdown>;
  readonly open: () => Live;
  readonly choice: number;
};

/**
 * Lets a gateway, which the countdown may end, publish and withdraw a volume, and the next gateway clear the remains.
 * Returns true if the first one finished.
 */
export async function playEnding({ countdown, open, volume, access, choice }: ExportRun): Promise<boolean> {
  const attached = [{ volume, access }];
  const isDone = await publishAndWithdraw(open(), attached).then(
    () => true,
    () => false,
  );
  countdown.lift();
  await clear(open(), attached, choice);
  return isDone;
}

/** Publishes and withdraws a volume, as a gateway that is not interrupted does. */
export async function publishAndWithdraw(
  live: Pick<Live, 'publish' | 'withdraw'>,
  attached: readonly ExportedAttachment[],
): Promise<void> {
  await Promise.all(attached.map(({ volume, access }) => live.publish(volume, access)));
  await withdraw(live, attached);
}

/**
 * Clears the remains as the next gateway does. `choice` decides whether it first publishes again, and whether it then
 * withdraws everything or restores nothing.
 */
export async function clear(
  next: Live,
  attached: readonly ExportedAttachment[],
  choice: number,
): Promise<void> {
  if (choice % 2 === 0) for (const { volume, access } of attached) await next.publish(volume, access);
  if (choice % 3 === 0) await withdraw(next, attached);
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
