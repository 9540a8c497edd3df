/** Around the part of a page that the command writes. */
const BEGIN = '<!-- bench: begin -->';
const END = '<!-- bench: end -->';

/**
 * The page with the text between its marks replaced.
 * @throws Error when the page has no marks.
 */
export function putBetweenMarks(page: string, text: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`the page has no '${BEGIN}' and '${END}' to write between`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n${page.slice(end)}`;
}
