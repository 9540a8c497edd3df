import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createFixture } from './fixture.js';

const path = '/.well-known/agent-card.json';

describe('the agent card', () => {
  test('is that of 1.0 and nothing more for a client that names no version', async () => {
    const { body } = await request(createFixture().app).get(path);
    expect(body.supportedInterfaces.length).toBeGreaterThan(0);
    for (const legacy of ['url', 'protocolVersion', 'preferredTransport', 'additionalInterfaces']) {
      expect(body).not.toHaveProperty(legacy);
    }
  });

  test('is that of 0.3 for such a client where the operator says so', async () => {
    const { body } = await request(createFixture({ cardDefaultVersion: '0.3' }).app).get(path);
    expect(body).toMatchObject({
      url: expect.stringContaining('http'),
      protocolVersion: expect.stringMatching(/^0\.3/),
    });
  });

  test.each(['1.0', '0.3'] as const)('is that of the version a client names: %s', async (version) => {
    for (const cardDefaultVersion of ['1.0', '0.3'] as const) {
      const { app } = createFixture({ cardDefaultVersion });
      const { body } = await request(app).get(path).set('A2A-Version', version);
      expect('url' in body).toBe(version === '0.3');
    }
  });
});
