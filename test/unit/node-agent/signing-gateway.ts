import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { newAttachmentId } from '../../../gateway/attachments/record.ts';
import { seal } from '../../../gateway/attachments/sealing.ts';
import { signed } from '../../../gateway/attachments/signing.ts';
import { createIdentity } from '../../../gateway/pools/identity.ts';
import { toPublishContext, type Attachment, type Reach } from '../../../src/api/attachment.ts';
import { temporaryDirectory } from '../../harness/gateway-harness.ts';

/** For which volume and which node an attachment is made, and what of it is secret. */
export type SignedAttachment = {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly secrets?: Readonly<Record<string, string>>;
  /** When it was made, in milliseconds since the epoch. */
  readonly atMs?: number;
};

/** What of a gateway makes publish contexts, with keys of its own. */
export async function openSigningGateway(t: TestContext) {
  const identity = createIdentity('hq', join(temporaryDirectory(t), 'keys.json'));
  await identity.prepare();
  return {
    /** The public keys, as they are published. */
    keys: JSON.stringify(await identity.keySet()),
    async attach(attachment: Attachment, { secrets, atMs = Date.now(), ...ids }: SignedAttachment) {
      const own = { ...attachment, attachmentId: newAttachmentId(atMs) };
      const reach = await seal({ ...own, ...(secrets && { secrets }) } as Reach, ids.nodeId);
      const { sealed } = reach;
      const resource = { ...ids, state: 'attached', readonly: false } as const;
      const sealedOne = { ...own, ...(sealed !== undefined && { sealed }) };
      const { attachment: whole } = await signed(
        { ...resource, attachment: sealedOne },
        identity.signDetached,
      );
      return toPublishContext(whole ?? sealedOne);
    },
  };
}
