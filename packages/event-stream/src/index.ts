export { createEventStream, type EventStreamParts } from './create-event-stream.js';
export type { EventStreamOptions } from './options.js';
export type * from './event-stream.js';
export { isPruned } from './pruned.js';
