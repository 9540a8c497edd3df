import { openRaw, serverUrl, type TestProvider } from '@a2a-cluster/testing';

/** How each database names its version. */
export async function serverVersions(databases: readonly TestProvider[]): Promise<readonly string[]> {
  return Promise.all(databases.map(versionOf));
}

async function versionOf(provider: TestProvider): Promise<string> {
  const url = provider === 'sqlite' ? 'file::memory:' : serverUrl(provider);
  const raw = await openRaw(url);
  try {
    const sql = provider === 'sqlite' ? 'SELECT sqlite_version() AS version' : 'SELECT version() AS version';
    const [row] = await raw.query(sql);
    const version = String(row?.['version']);
    return provider === 'postgresql' ? (version.split(' (')[0] ?? version) : `${provider} ${version}`;
  } finally {
    await raw.close();
  }
}
