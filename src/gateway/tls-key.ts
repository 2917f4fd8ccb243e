import { createHash } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'

import { createSelfSigned } from './self-signed.ts'

export type GatewayKey = {
  secureContext: SecureContext
  /** The certificate (PEM). Public: Chromium is shown it in each handshake. */
  certificate: string
  /** Base64 of the SHA-256 of the public key, for `--ignore-certificate-errors-spki-list`. */
  spkiHash: string
}

/**
 * A key pair and a self-signed certificate for the life of this process. The
 * private key is written nowhere and handed to nobody but OpenSSL; Chromium is
 * told the hash of the public one, so the names and dates in the certificate
 * bear no meaning, and one certificate serves every custom domain.
 */
export function createGatewayKey(): GatewayKey {
  const { privateKey, certificate, publicKeyInfo } = createSelfSigned('Prepaint gateway')
  return {
    certificate,
    secureContext: createSecureContext({
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: certificate,
      minVersion: 'TLSv1.3',
    }),
    spkiHash: createHash('sha256').update(publicKeyInfo).digest('base64'),
  }
}
