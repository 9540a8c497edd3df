export * from './create-sweeper.js';
export { checkOrphanAge } from './leaseless-sweep.js';
export * from './sweeper.js';
