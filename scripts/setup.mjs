// `npm run setup`: everything a fresh machine with Node needs, without running anything.
import { prepare, say } from './workspace.mjs';

await prepare();
say('Ready.');
