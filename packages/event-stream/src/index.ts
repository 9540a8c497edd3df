export type * from './event-stream.js';
