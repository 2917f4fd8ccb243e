import { createHash } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'

export type GatewayKey = {
  secureContext: SecureContext
  /** PEM */
  certificate: string
  /** Base64 SHA-256 of the public key, for `--ignore-certificate-errors-spki-list`. */
  spkiHash: string
}

/** One key pair per process for all domains. Chromium trusts the key's hash, so names and dates do not matter. */
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
