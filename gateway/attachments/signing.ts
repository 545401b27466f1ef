import { signedText, toPublishContext, type SignatureHeader } from '../../src/api/attachment.ts';
import { readNodeId } from '../../src/api/ids.ts';
import type { AttachmentResource } from '../../src/api/node.ts';
import type { SignDetached } from '../pools/identity.ts';

/**
 * The resource with its attachment signed for this volume and this node, where both have a key: an agent that has none may be
 * of a release that knows no signatures, and would refuse one.
 */
export async function signed(
  resource: AttachmentResource,
  signDetached: SignDetached | undefined,
): Promise<AttachmentResource> {
  const { attachment } = resource;
  if (!attachment || !signDetached || readNodeId(resource.nodeId).key === undefined) return resource;
  const header: SignatureHeader = { volume: resource.volumeId, node: resource.nodeId };
  const signature = await signDetached(header, signedText(toPublishContext(attachment)));
  return signature === undefined ? resource : { ...resource, attachment: { ...attachment, signature } };
}
