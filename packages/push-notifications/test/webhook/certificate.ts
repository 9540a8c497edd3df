import { generateKeyPairSync, sign } from 'node:crypto';

/** A key and a certificate that signs itself, both PEM. */
export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
}

/** Makes a certificate for a DNS name, valid from 2020 to the year given. */
export function makeCertificate(name: string, untilYear = 2049): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const commonName = sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name)));
  const subject = sequence(der(0x31, commonName));
  const validity = sequence(utcTime('20'), utcTime(String(untilYear % 100)));
  const altName = sequence(
    der(0x06, Buffer.from('551d11', 'hex')),
    der(0x04, sequence(der(0x82, Buffer.from(name)))),
  );
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    subject,
    validity,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(altName)),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, privateKey)]);
  const whole = sequence(toBeSigned, ecdsaWithSha256, der(0x03, signature));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, Buffer.concat(parts));

const utcTime = (year: string): Buffer => der(0x17, Buffer.from(`${year}0101000000Z`));

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
