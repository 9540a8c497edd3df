import { byteSize, durationMs, of, wholeNumber } from './setting-values.js';

const MANY = 1_000_000_000;

/** The settings that bound what clients, agents and connections may take of a replica: see docs/limits.md. */
export const limitSettings = {
  MAX_JSON_DEPTH: of(wholeNumber(1, 1_000), 'how deep the JSON of a request may be nested', '100'),
  MAX_METADATA_DEPTH: of(wholeNumber(1, 1_000), 'how deep metadata and data parts may be nested', '32'),
  MAX_MESSAGE_PARTS: of(wholeNumber(1, MANY), 'most parts of a message', '100'),
  MAX_TASK_MESSAGES: of(wholeNumber(1, MANY), 'most messages of its user a task takes', '1000'),
  MAX_EVENT_BYTES: of(byteSize(), 'largest event, such as 512kb or 4mb', '4mb'),
  MAX_EVENTS_PER_TURN: of(wholeNumber(1, MANY), 'most events of one turn', '100000'),
  MAX_TURNS_PER_OWNER: of(
    wholeNumber(1, 1_000_000),
    'most turns of one user on this replica',
    '100 where users are known',
  ),
  MAX_STREAMS: of(wholeNumber(1, 1_000_000), 'most open streams of this replica', '10000'),
  MAX_STREAMS_PER_OWNER: of(
    wholeNumber(1, 1_000_000),
    'most open streams of one user on this replica',
    '100 where users are known',
  ),
  SLOW_READER_TIMEOUT_MS: of(
    durationMs(),
    'time after which a client that takes nothing is cut off',
    '60000',
  ),
  MAX_CONNECTIONS: of(wholeNumber(1, 1_000_000), 'most open connections of this replica', '20000'),
  MAX_HEADER_BYTES: of(byteSize(), 'most bytes of the headers of a request', '16kb'),
  HEADERS_TIMEOUT_MS: of(durationMs(), 'time a client has to send its headers', '15000'),
  REQUEST_TIMEOUT_MS: of(durationMs(), 'time a client has to send a whole request', '60000'),
  KEEP_ALIVE_TIMEOUT_MS: of(durationMs(), 'time a connection may be idle between two requests', '5000'),
};
