import type { Messages, Services } from '../protocol.ts';

declare const messages: Messages;
export default messages;
export const services: Services;
