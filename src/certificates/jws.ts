import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** The key of an ACME account in use: ECDSA on P-256, signing ES256. */
export type Signer = {
  /** The public key as a JWK, in the members and the order that its thumbprint is made of (RFC 7638). */
  jwk: { crv: string; kty: string; x: string; y: string }
  thumbprint: string
  /** A JWS in its flattened JSON form (RFC 8555, section 6.2). `payload` null: POST-as-GET. */
  sign(header: { nonce: string; url: string; kid: string | null }, payload: object | null): string
}

export function createSigner(key: KeyObject): Signer {
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  const jwk = { crv, kty, x, y }
  return {
    jwk,
    thumbprint: createHash('sha256').update(JSON.stringify(jwk)).digest('base64url'),
    sign({ nonce, url, kid }, payload) {
      const whose = kid === null ? { jwk } : { kid }
      const encodedHeader = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...whose }))
      const encodedPayload = payload === null ? '' : base64url(JSON.stringify(payload))
      const signature = sign('sha256', Buffer.from(`${encodedHeader}.${encodedPayload}`), {
        key,
        dsaEncoding: 'ieee-p1363',
      })
      return JSON.stringify({
        protected: encodedHeader,
        payload: encodedPayload,
        signature: signature.toString('base64url'),
      })
    },
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
