import { addresses } from './addresses.js';
import { bodies } from './bodies.js';
import { legacy } from './legacy.js';
import { messages } from './messages.js';
import { pushConfigs } from './push-configs.js';
import { reads } from './reads.js';
import type { Row } from './row.js';

/** Every row, by what is wrong. */
export const table: readonly (readonly [string, readonly Row[]])[] = [
  ['bodies', bodies],
  ['addresses', addresses],
  ['messages', messages],
  ['reads', reads],
  ['push configs', pushConfigs],
  ['A2A 0.3', legacy],
];
