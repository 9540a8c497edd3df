import { createRequire } from 'node:module';

/** The version of this package, as the table of replicas tells it. */
export const VERSION = (createRequire(import.meta.url)('../package.json') as { readonly version: string })
  .version;
