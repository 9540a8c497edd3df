import { A2A_PROTOCOL_VERSION, type AgentCard, type AgentInterface, type SecurityScheme } from '@a2a-js/sdk';
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3';

/** Options of {@link agentCardFor}. */
export interface AgentCardOptions {
  /** Where clients reach the replica, or the load balancer before it; no slash at the end. */
  readonly publicUrl: string;
  /** Fields of the agent's own card; they win, but for the interfaces. */
  readonly card?: Partial<AgentCard>;
  /** What clients must send one of, as a Bearer token; default: nothing. */
  readonly accepts?: AcceptedTokens;
}

/** The sorts of tokens that are taken. */
export interface AcceptedTokens {
  /** Tokens that the operator hands out. */
  readonly tokens: boolean;
  /** JSON Web Tokens of an issuer. */
  readonly jwt: boolean;
}

/** Where JSON-RPC is mounted. */
export const JSON_RPC_PATH = '/a2a/jsonrpc';
/** Where REST is mounted. */
export const REST_PATH = '/a2a/rest';

/**
 * The card a replica serves. Every replica behind one address serves the same one. Both transports are declared for
 * A2A 1.0 and, on the same addresses, for 0.3.
 */
export function agentCardFor(options: AgentCardOptions): AgentCard {
  const card: AgentCard = { ...demoCard(), ...options.card };
  const bindings = ['JSONRPC', 'HTTP+JSON'];
  card.supportedInterfaces = duplicateInterfacesForLegacy(interfaces(options.publicUrl), bindings);
  return withSchemes(card, options.accepts ?? { tokens: false, jwt: false });
}

function interfaces(publicUrl: string): AgentInterface[] {
  const common = { tenant: '', protocolVersion: A2A_PROTOCOL_VERSION };
  return [
    { ...common, url: `${publicUrl}${JSON_RPC_PATH}`, protocolBinding: 'JSONRPC' },
    { ...common, url: `${publicUrl}${REST_PATH}`, protocolBinding: 'HTTP+JSON' },
  ];
}

/** Each sort of token is a scheme, and a requirement of its own: one of them will do. */
function withSchemes(card: AgentCard, { tokens, jwt }: AcceptedTokens): AgentCard {
  const schemes = {
    ...(tokens
      ? { bearer: bearer({ description: 'A token the operator gave you.', bearerFormat: '' }) }
      : {}),
    ...(jwt ? { jwt: bearer({ description: 'A JSON Web Token.', bearerFormat: 'JWT' }) } : {}),
  };
  const requirements = Object.keys(schemes).map((name) => ({ schemes: { [name]: { list: [] } } }));
  return {
    ...card,
    securitySchemes: { ...card.securitySchemes, ...schemes },
    securityRequirements: [...card.securityRequirements, ...requirements],
  };
}

function bearer(words: { readonly description: string; readonly bearerFormat: string }): SecurityScheme {
  return { scheme: { $case: 'httpAuthSecurityScheme', value: { ...words, scheme: 'Bearer' } } };
}

function demoCard(): AgentCard {
  return {
    name: 'Demo agent',
    description: 'Does what its message says: a script of steps such as `tick 5 1000; done all good`.',
    supportedInterfaces: [],
    provider: undefined,
    version: '0.1.0',
    documentationUrl: undefined,
    capabilities: { streaming: true, pushNotifications: true, extensions: [], extendedAgentCard: false },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'script',
        name: 'Run a script',
        description: 'Runs the steps of the message text, split at `;` or new lines.',
        tags: ['demo', 'test'],
        examples: ['tick 5 1000; done all good', 'ask Which one?', 'chunk 10 1000 50'],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
    iconUrl: undefined,
  };
}
