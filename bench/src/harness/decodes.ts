import { stampOf } from '../servers/agent.js';

/** How often texts with a stamped chunk were decoded. */
export interface DecodeCount {
  /** Since the count began or was last taken. */
  take(): number;
}

/** Whoever decodes a row of the log decodes its JSON: so that is what is counted, whoever does it in this process. */
export function countDecodes(): DecodeCount {
  const { parse } = JSON;
  let count = 0;
  JSON.parse = (text, reviver) => {
    if (stampOf(String(text)) !== null) count += 1;
    return parse(text, reviver) as unknown;
  };
  return {
    take: () => {
      const taken = count;
      count = 0;
      return taken;
    },
  };
}
