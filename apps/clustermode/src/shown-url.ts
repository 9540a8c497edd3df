/**
 * The URL of a webhook as people may see it: receivers put secrets into its query, and some into its user. Text that is
 * no URL loses all after the first `?` or `#`.
 */
export function shownUrl(url: string): string {
  const cut = url.replace(/[?#].*$/s, '?…');
  if (!URL.canParse(url)) return cut;
  const { username, password } = new URL(url);
  return username === '' && password === '' ? cut : cut.replace(/^([a-z][\w+.-]*:\/*)[^/]*@/i, '$1');
}
