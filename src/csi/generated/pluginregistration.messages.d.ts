// Generated from proto/pluginregistration.proto. Do not edit.

import type { Namespace, Services } from '../codec.ts';

declare const root: Namespace;
export default root;
export const services: Services;
