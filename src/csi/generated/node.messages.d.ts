import type { Messages, Services } from '../codec.ts';

declare const messages: Messages;
export default messages;
export const services: Services;
