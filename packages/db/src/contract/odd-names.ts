/** Fills a text up to exactly so many bytes of UTF-8, with emoji and a rest of letters. */
function filled(prefix: string, bytes: number): string {
  const room = bytes - Buffer.byteLength(prefix, 'utf8');
  return prefix + '\u{1F600}'.repeat(Math.floor(room / 4)) + 'x'.repeat(room % 4);
}

/**
 * Ids, tenants and owners that a database may take for one another, for a pattern or for a part of a statement. All
 * can be stored, no two are the same, and each is another's name (protocol 1).
 */
export const ODD_NAMES: readonly string[] = [
  // Letters that collations fold.
  ...['name', 'Name', 'NAME', 'n\u00e2me', 'na\u0301me', 'n\u00e1me', '\uff4eame'],
  ...['stra\u00dfe', 'strasse', 'STRASSE', '\ufb01x', 'fix', 'i', 'I', '\u0131', '\u0130'],
  // One letter in several encodings, and in the normal forms of Unicode.
  ...['\u00c5', 'A\u030a', '\u212b', 'K', '\u212a', '\u1e9b\u0323', '\u1e69', 's\u0323\u0307'],
  // What is not seen.
  ...[
    'na\u200dme',
    'na\u00adme',
    '\ufeffname',
    'name\u200e',
    ' name',
    'name\t',
    'name\u00a0',
    'name\u0001',
    'name\n',
  ],
  // Beyond sixteen bits, and what stands for what could not be read.
  ...[
    '\u{1F600}',
    '\u{1F601}',
    '\u2764',
    '\u2764\ufe0f',
    '\u{1F44D}\u{1F3FD}',
    '\u{10FFFF}',
    '\uffff',
    '\ufffd',
    '?',
  ],
  // Patterns, quotes and statements.
  ...[
    '%',
    '_',
    'n%',
    'n_me',
    "'",
    "''",
    '"',
    '`',
    '\\',
    '\\\\',
    "\\'",
    '\\0',
    '\\n',
    '$1',
    ':x',
    '#{x}',
    '${x}',
  ],
  ...["' OR '1'='1", "'; DROP TABLE tasks; --", '/* */', '--', '#', ';', '{}', '[]', '\u001a'],
  // Paths and addresses.
  ...[
    '.',
    '..',
    '../..',
    'a/b',
    'a%2fb',
    'a+b',
    'a b',
    'a?b=c',
    'a#b',
    'a|b',
    'a,b',
    'a@b',
    'a:cancel',
    'a%',
  ],
  // What a language takes for a value or for a property of every object.
  ...['0', '00', '1', '01', '1.0', '1e0', '0x1', '+1', '-1', 'null', 'NULL', 'undefined', 'true', 'NaN'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
  // The longest there are, which differ in their last byte.
  ...['a'.repeat(191), `${'a'.repeat(190)}b`, filled('', 191), filled('y', 191), `${'\u00e9'.repeat(95)}x`],
];

/** What no database can store and compare byte for byte. */
export const IMPOSSIBLE_NAMES: readonly string[] = [
  'name ',
  'name  ',
  'na\u0000me',
  '\u0000',
  'name\u0000',
  '\ud800',
  'name\udc00',
  '\udc00\ud800',
  'a'.repeat(192),
  filled('', 192),
  `${'\u00e9'.repeat(96)}`,
  'x'.repeat(5_000),
];
