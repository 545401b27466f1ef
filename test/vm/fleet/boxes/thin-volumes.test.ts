import { whyNoMachine } from '../../packages.ts';
import { testDevices } from './stage.ts';

testDevices({ role: 'thin-box', devices: 'thin volumes', why: whyNoMachine() });
