import { signedText, toPublishContext, type SignatureHeader } from '../../src/api/attachment.ts';
import { readNodeId } from '../../src/api/ids.ts';
import type { AttachmentResource } from '../../src/api/node.ts';
import type { DetachedSigner } from '../pools/identity.ts';

/**
 * Signs the attachment for this volume and node, if both the gateway and the node have a key. An agent
 * without a key may be of a release that refuses signatures.
 */
export async function signed(
  resource: AttachmentResource,
  signDetached: DetachedSigner | undefined,
): Promise<AttachmentResource> {
  const { attachment } = resource;
  if (!attachment || !signDetached || readNodeId(resource.nodeId).key === undefined) return resource;
  const header: SignatureHeader = { volume: resource.volumeId, node: resource.nodeId };
  const signature = await signDetached(header, signedText(toPublishContext(attachment)));
  return signature === undefined ? resource : { ...resource, attachment: { ...attachment, signature } };
}
