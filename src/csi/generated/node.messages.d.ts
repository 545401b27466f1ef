// Generated from proto/csi.proto. Do not edit.

import type { Namespace, Services } from '../codec.ts';

declare const root: Namespace;
export default root;
export const services: Services;
