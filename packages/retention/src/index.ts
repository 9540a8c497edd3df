export * from './create-retention.js';
export * from './options.js';
export * from './retention.js';
