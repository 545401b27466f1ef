import { whyNoZfs } from '../../../zfs/zfs.ts';
import { whyNoMachine } from '../../packages.ts';
import { testDevices } from './stage.ts';

testDevices({ role: 'zvol-box', devices: 'zvols', why: whyNoMachine() ?? whyNoZfs });
