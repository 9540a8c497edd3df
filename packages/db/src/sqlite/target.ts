import { ClusterError } from '@a2a-cluster/core';
import { absoluteDatabaseUrl } from '../migrations/database-url.js';

/**
 * The absolute path of the file a `file:` URL names; relative ones count from the working directory, as in the
 * migration command.
 * @throws ClusterError `CONFIG_INVALID` for a database in memory, which no other connection could see.
 */
export function fileOfUrl(url: string): string {
  const [, file = '', query = ''] = /^file:(?:\/\/)?([^?]*)(\?.*)?$/.exec(url) ?? [];
  if (file === '' || file.startsWith(':memory:') || /[?&]mode=memory\b/.test(query)) {
    throw new ClusterError(
      'CONFIG_INVALID',
      `the database URL ${url} names no file; the replicas share a file, such as file:./.data/cluster.db`,
    );
  }
  return absoluteDatabaseUrl(`file:${file}`).slice('file:'.length);
}
