import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { newAttachmentId } from '../../../gateway/attachments/record.ts';
import { seal } from '../../../gateway/attachments/sealing.ts';
import { signed } from '../../../gateway/attachments/signing.ts';
import { createIdentity } from '../../../gateway/pools/identity.ts';
import { toPublishContext, type Attachment, type Reach } from '../../../src/api/attachment.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

/** The volume and node of an attachment, and its secret parts. */
type SignedAttachment = {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly secrets?: Readonly<Record<string, string>>;
  /** The seal of another gateway. */
  readonly farSealed?: string;
  /** The time of its creation, in milliseconds since the epoch. */
  readonly atMs?: number;
};

/** Opens the part of a gateway that makes publish contexts, with keys of its own. */
export async function openSigningGateway(t: TestContext) {
  const identity = createIdentity('hq', join(temporaryDirectory(t), 'keys.json'));
  await identity.prepare();
  return {
    /** The public keys in their published form. */
    keys: JSON.stringify(await identity.keySet()),
    async attach(
      attachment: Attachment,
      { secrets, farSealed, atMs = Date.now(), ...ids }: SignedAttachment,
    ) {
      const { sealed: raw, ...own } = { ...attachment, attachmentId: newAttachmentId(atMs) };
      const given = { ...(secrets && { secrets }), ...(farSealed !== undefined && { sealed: farSealed }) };
      const { sealed = raw } = await seal({ ...own, ...given } as Reach, { ...own, ...ids });
      const resource = { ...ids, state: 'attached', readonly: false } as const;
      const sealedOne: Attachment = { ...own, ...(sealed !== undefined && { sealed }) };
      const { attachment: whole } = await signed(
        { ...resource, attachment: sealedOne },
        identity.signDetached,
      );
      return toPublishContext(whole ?? sealedOne);
    },
  };
}
